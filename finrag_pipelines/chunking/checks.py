"""What must hold of the fragments of a document before they are indexed."""

from collections.abc import Sequence

from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.parsing.model import FURNITURE, ParsedDocument


def first_gap(document: ParsedDocument, fragments: Sequence[Fragment]) -> tuple[int, int] | None:
    """Return the first range that is neither blank nor furniture and lies in no fragment, or whose fragment does not
    read back; None where every character is accounted for."""
    for fragment in fragments:
        if document.text[fragment.start : fragment.end] != fragment.text:
            return fragment.start, fragment.end
    spans = [(f.start, f.end) for f in fragments]
    spans += [(e.start, e.end) for e in document.elements if e.kind in FURNITURE]
    position = 0
    for start, end in (*sorted(spans), (len(document.text), len(document.text))):
        if start > position and document.text[position:start].strip():
            return position, start
        position = max(position, end)
    return None
