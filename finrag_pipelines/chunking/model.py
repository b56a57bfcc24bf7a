"""The vocabulary of chunking: the fragment, which is what is indexed, delivered and cited."""

from dataclasses import dataclass

from finrag_pipelines.storage import digest


@dataclass(frozen=True)
class Fragment:
    """A range of one representation inside one section or speaker turn.

    `context` is the line that is indexed and embedded before the text (company, form, period, section path, caption,
    units and header of a table) and is not part of the range. `period` is the filing's period; `periods` are all that
    the text reports. `representation_type` is native_text, table_text or transcript_turn. Offsets are code points.
    """

    fragment_id: str
    source_id: str
    version: int
    content_sha256: str
    representation_id: str
    representation_type: str
    start: int
    end: int
    text: str
    context: str
    company: str
    form: str
    period: str | None
    filed: str | None
    periods: tuple[str, ...]
    section: str | None
    section_title: str | None
    speaker: str | None
    role: str | None
    firm: str | None
    part: str | None
    page_index: int | None
    page_label: str | None
    tokens: int
    is_pointer: bool = False

    @property
    def embedded_text(self) -> str:
        """The text as indexed and embedded: the context line, then the text."""
        return f"{self.context}\n{self.text}"


def fragment_id(source_id: str, content_sha256: str, representation_id: str, start: int, end: int) -> str:
    """Return the id of a fragment: the first 32 hex digits of the hash of where it is, never of what it says."""
    return digest([source_id, content_sha256, representation_id, start, end])[:32]
