"""From the bytes of a document to its parsed form: the readers and the questions put to what they read, in order."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from finrag_pipelines.catalog.identity import Finding, Identity
from finrag_pipelines.parsing.model import Element, Kind, Layout, ParsedDocument, Section, Turn
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.storage import digest

# Part of every representation's identity: raise it whenever any module of this folder reads something differently.
PARSER = "finrag-parser/3"


@dataclass(frozen=True)
class Overrides:
    """What somebody who knows better says of a document's identity, in a sidecar or by a flag; None says nothing.

    `fiscal_year_end` (month and day, `0930`) is no part of an identity: a fiscal label follows from it.
    """

    company: str | None = None
    company_name: str | None = None
    form: str | None = None
    period: str | None = None
    period_end: str | None = None
    filed: str | None = None
    title: str | None = None
    subjects: tuple[str, ...] | None = None
    cik: str | None = None
    accession: str | None = None
    fiscal_year_end: str | None = None

    def stated(self) -> dict[str, str | tuple[str, ...]]:
        """Return the fields that say something."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}

    def as_record(self) -> dict[str, str | list[str]]:
        """Return the stated fields as JSON has them."""
        return {name: value if isinstance(value, str) else list(value) for name, value in self.stated().items()}

    @staticmethod
    def from_record(record: dict[str, str | list[str]]) -> "Overrides":
        """Rebuild what `as_record` returned."""
        return Overrides(**{k: v if isinstance(v, str) else tuple(v) for k, v in record.items()})  # type: ignore[arg-type]

    def apply(self, identity: Identity) -> Identity:
        """Return `identity` with the stated fields in place, each with the basis `sidecar`."""
        stated = {name: value for name, value in self.stated().items() if name != "fiscal_year_end"}
        if not stated:
            return identity
        findings = tuple(f for f in identity.findings if f.name not in stated) + tuple(
            Finding(name, value if isinstance(value, str) else ", ".join(value), "sidecar")
            for name, value in sorted(stated.items())
        )
        unknown = {name: reason for name, reason in identity.unknown.items() if name not in stated}
        return replace(identity, **stated, findings=findings, unknown=unknown)  # type: ignore[arg-type]


def parser_key(content_sha256: str, overrides: Overrides) -> str:
    """Return the key under which the parse of these bytes by this parser with these overrides is found again."""
    return digest([content_sha256, PARSER, overrides.as_record()])


def read_layout(content: bytes, deadline: Deadline | None = None) -> Layout:
    """Read `content` by the reader for its kind, which its bytes decide. Raises UnreadableError."""
    from finrag_pipelines.parsing.readers.sniff import sniff

    return _reader(sniff(content))(content, deadline or Deadline())


def _reader(kind: Kind) -> Callable[[bytes, Deadline], Layout]:
    match kind:
        case Kind.PDF:
            from finrag_pipelines.parsing.readers.pdf import read_pdf

            return read_pdf
        case Kind.HTML:
            from finrag_pipelines.parsing.readers.html import read_html

            return read_html
        case Kind.SUBMISSION:
            from finrag_pipelines.parsing.readers.submission import read_submission

            return read_submission
        case Kind.DOCX:
            from finrag_pipelines.parsing.readers.office import read_docx

            return read_docx
        case Kind.EMAIL:
            from finrag_pipelines.parsing.readers.office import read_email

            return read_email
        case Kind.MARKDOWN:
            from finrag_pipelines.parsing.readers.office import read_markdown

            return read_markdown
        case Kind.JSON_TRANSCRIPT:
            from finrag_pipelines.parsing.speakers.turns import read_json_transcript

            return read_json_transcript
        case Kind.TEXT:
            from finrag_pipelines.parsing.readers.plaintext import read_text

            return read_text


def parse(content: bytes, name: str = "", overrides: Overrides | None = None) -> ParsedDocument:
    """Parse one document. `name` is only used to warn where it contradicts the content.

    Raises UnreadableError, also (`time_budget`) when the document takes longer than `FINRAG_PARSE_SECONDS`.
    """
    from finrag_pipelines.parsing.identity.identify import completed, identify, refusal_reason
    from finrag_pipelines.parsing.model import UnreadableError
    from finrag_pipelines.parsing.reported import annotate
    from finrag_pipelines.parsing.sections.find import find_sections
    from finrag_pipelines.parsing.speakers.turns import find_turns

    deadline = Deadline()
    layout = read_layout(content, deadline)
    deadline.check("the identity of the document")
    overrides = overrides or Overrides()
    identity = completed(overrides.apply(identify(layout, name)), layout, overrides.fiscal_year_end)
    if refused := refusal_reason(identity, layout):
        raise UnreadableError(*refused)
    layout = annotate(layout, identity, deadline)
    deadline.check("the sections and speakers")
    if identity.form == "transcript":
        turns, sections, headings = find_turns(layout), (), ()
    else:
        turns = ()
        sections, headings = find_sections(layout, identity.form)
    deadline.check("the end")
    return ParsedDocument(
        text=layout.text,
        kind=layout.kind,
        parser=PARSER,
        identity=identity,
        elements=_placed(layout.elements, sections, turns),
        pages=layout.pages,
        sections=sections,
        headings=headings,
        turns=turns,
        tables=layout.tables,
        flags=layout.flags,
    )


def _placed(
    elements: tuple[Element, ...], sections: tuple[Section, ...], turns: tuple[Turn, ...]
) -> tuple[Element, ...]:
    """Say of each element which section and which turn it starts in."""

    def holder(ranges: tuple[Section, ...] | tuple[Turn, ...]) -> list[int | None]:
        found: list[int | None] = []
        position = 0
        for element in elements:
            while position < len(ranges) and ranges[position].end <= element.start:
                position += 1
            inside = position < len(ranges) and ranges[position].start <= element.start
            found.append(position if inside else None)
        return found

    return tuple(
        replace(element, section=section, turn=turn)
        for element, section, turn in zip(elements, holder(sections), holder(turns), strict=True)
    )
