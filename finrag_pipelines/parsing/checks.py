"""What must hold of a parsed document before anything is built on it. Each check returns the problems it sees."""

from collections.abc import Iterator
from dataclasses import dataclass

from finrag_pipelines.parsing.model import ParsedDocument


@dataclass(frozen=True)
class Problem:
    """Something that does not hold: the check that saw it, a stable code, and a sentence that says where."""

    check: str
    code: str
    message: str


def ranges_read_back(document: ParsedDocument) -> Iterator[Problem]:
    """Elements are in order, do not overlap, lie inside the text; sections, turns, rows and cells lie inside it too."""
    end_of_text, last = len(document.text), 0
    for element in document.elements:
        if not last <= element.start < element.end <= end_of_text:
            yield Problem(
                "ranges_read_back", "bad_range", f"element [{element.start}, {element.end}) overlaps or leaves the text"
            )
            return
        last = element.end
    spans = [(x.start, x.end) for group in (document.sections, document.turns, document.tables) for x in group]
    spans += [(row.start, row.end) for table in document.tables for row in table.rows]
    spans += [(cell.start, cell.end) for table in document.tables for row in table.rows for cell in row.cells]
    for start, end in spans:
        if not 0 <= start <= end <= end_of_text:
            yield Problem(
                "ranges_read_back", "bad_range", f"range [{start}, {end}) leaves the text of {end_of_text} characters"
            )
            return


def text_is_covered(document: ParsedDocument) -> Iterator[Problem]:
    """Every character that is not blank belongs to an element."""
    position = 0
    for element in (*document.elements, None):
        end = element.start if element else len(document.text)
        gap = document.text[position:end]
        if gap.strip():
            yield Problem("text_is_covered", "not_covered", f"characters [{position}, {end}) belong to no element")
            return
        position = element.end if element else end


def identity_is_known(document: ParsedDocument) -> Iterator[Problem]:
    """The document says who issued it and what it is."""
    for name in ("company", "form"):
        if getattr(document.identity, name) is None:
            reason = document.identity.unknown.get(name, "the document does not state it")
            yield Problem("identity_is_known", f"{name}_unknown", f"{name} is unknown: {reason}; state it in a sidecar")


def sections_are_sane(document: ParsedDocument) -> Iterator[Problem]:
    """No section carries a doubt: flagged sections are reported, and do not keep a document out."""
    for section in document.sections:
        if section.flags:
            yield Problem("sections_are_sane", "section_flagged", f"{section.key}: {', '.join(section.flags)}")


BLOCKING = (ranges_read_back, text_is_covered, identity_is_known)


def blocking_problems(document: ParsedDocument) -> list[Problem]:
    """Return what keeps `document` out of the corpus, in the order of the checks."""
    return [problem for check in BLOCKING for problem in check(document)]
