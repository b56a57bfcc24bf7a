"""A picture of a PDF page with the boxes of its elements and the headings of its sections, for people to look at."""

import io
from typing import TYPE_CHECKING

from finrag_pipelines.parsing.model import FURNITURE, Element, ElementKind, ParsedDocument
from finrag_pipelines.parsing.readers.lines import Line
from finrag_pipelines.parsing.readers.pdf import page_lines

if TYPE_CHECKING:
    from PIL import ImageDraw

_SCALE = 1.6
_COLOURS = {
    ElementKind.TITLE: (176, 58, 46),
    ElementKind.TABLE: (31, 97, 141),
    ElementKind.TURN: (108, 52, 131),
    ElementKind.LIST_ITEM: (183, 149, 11),
    ElementKind.PARAGRAPH: (35, 110, 72),
}
_FURNITURE_COLOUR = (150, 150, 150)

Box = tuple[float, float, float, float]


def draw_page(content: bytes, document: ParsedDocument, index: int) -> bytes:
    """Return a PNG of page `index` of the PDF `content` that `document` was parsed from.

    Each element has a box in the colour of its kind, named by kind and range; section headings are named by their key.
    """
    import pypdfium2
    from PIL import ImageDraw

    lines = page_lines(content, index)
    pdf = pypdfium2.PdfDocument(content)
    try:
        page = pdf[index]
        bitmap = page.render(scale=_SCALE)  # type: ignore[arg-type]
        image = bitmap.to_pil().convert("RGB")
        height = page.get_height()
    finally:
        pdf.close()
    draw = ImageDraw.Draw(image)
    places = _places(document, index, lines)
    headings = {section.start: section.key for section in document.sections}
    for element in document.elements:
        inside = [box for start, box in places if element.start <= start < element.end]
        if inside:
            _draw_box(draw, _hull(inside), height, element, headings.get(element.start))
    stream = io.BytesIO()
    image.save(stream, format="PNG")
    return stream.getvalue()


def _places(document: ParsedDocument, index: int, lines: list[Line]) -> list[tuple[int, Box]]:
    """Return where each line of the page starts in the canonical text, and its box in points."""
    position, end = document.pages[index].start, document.pages[index].end
    found = []
    for line in lines:
        at = document.text.find(line.text.strip(), position, end)
        if at >= 0:
            found.append((at, (line.x0, line.y - 0.25 * line.size, line.x1, line.y + 0.8 * line.size)))
            position = at
    return found


def _hull(boxes: list[Box]) -> Box:
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )


def _draw_box(draw: "ImageDraw.ImageDraw", box: Box, height: float, element: Element, section: str | None) -> None:
    colour = _FURNITURE_COLOUR if element.kind in FURNITURE else _COLOURS.get(element.kind, (0, 0, 0))
    left, right = box[0] * _SCALE - 3, box[2] * _SCALE + 3
    top, bottom = (height - box[3]) * _SCALE - 1, (height - box[1]) * _SCALE + 1
    draw.rectangle((left, top, right, bottom), outline=colour, width=2 if section is None else 4)
    name = f"{section} | " if section else ""
    draw.text((left + 2, top - 11), f"{name}{element.kind.value} [{element.start}:{element.end}]", fill=colour)
