"""The picture of a PDF page with quoted passages marked: what an auditor compares with the paper."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finrag_pipelines.parsing.model import ParsedDocument
from finrag_pipelines.parsing.readers.lines import Line
from finrag_pipelines.parsing.readers.pdf import page_lines

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

_SCALE = 1.6  # pixels per point
_MARK = (255, 221, 87)
_EDGE = (196, 138, 0)
_CROP_MARGIN = 46  # points above and below the marked lines
_COLOURS = 48

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Span:
    """A passage to mark, `[start, end)` of the canonical text, under the number that stands in the answer."""

    start: int
    end: int
    marker: int


@dataclass(frozen=True)
class Picture:
    """PNGs of a page, whole and cut to the marked lines (None where no line could be placed), sizes in pixels."""

    whole: bytes
    detail: bytes | None
    width: int
    height: int


def draw_marked(content: bytes, document: ParsedDocument, index: int, spans: Sequence[Span]) -> Picture:
    """Draw page `index` of the PDF `content` that `document` was parsed from, with the spans marked."""
    import pypdfium2
    from PIL import Image, ImageChops, ImageDraw

    lines = page_lines(content, index)
    pdf = pypdfium2.PdfDocument(content)
    try:
        page = pdf[index]
        image = page.render(scale=_SCALE).to_pil().convert("RGB")  # type: ignore[arg-type]
        height = page.get_height()
    finally:
        pdf.close()
    boxes = [(span, _pixels(box, height)) for span in spans for box in _boxes(document, index, lines, span)]
    tint = Image.new("RGB", image.size, "white")
    brush = ImageDraw.Draw(tint)
    for _, box in boxes:
        brush.rectangle(box, fill=_MARK)
    image = ImageChops.multiply(image, tint)  # the ink stays as dark as it was
    draw = ImageDraw.Draw(image)
    for span in spans:
        own = [box for one, box in boxes if one == span]
        if own:
            _number(draw, span.marker, own)
    detail = None
    if boxes:
        detail = _png(image.crop(_around([box for _, box in boxes], lines, image.size)))
    return Picture(_png(image), detail, image.width, image.height)


def _number(draw: "ImageDraw.ImageDraw", marker: int, boxes: list[Box]) -> None:
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    bottom = max(box[3] for box in boxes)
    x = max(4.0, left - 10)
    draw.line((x, top, x, bottom), fill=_EDGE, width=3)
    text = str(marker)
    width = 12 + 8 * len(text)
    draw.rounded_rectangle((x - width - 4, top, x - 4, top + 20), radius=6, fill=_EDGE)
    draw.text((x - 4 - width / 2, top + 10), text, fill="white", anchor="mm")


def _around(boxes: list[Box], lines: Sequence[Line], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the part of the picture to cut out: some lines above and below the marked ones, as wide as the text."""
    margin = _CROP_MARGIN * _SCALE
    left = min(line.x0 for line in lines) * _SCALE - margin
    right = max(line.x1 for line in lines) * _SCALE + margin / 2
    top, bottom = min(box[1] for box in boxes) - margin, max(box[3] for box in boxes) + margin
    return max(0, int(left)), max(0, int(top)), min(size[0], int(right)), min(size[1], int(bottom))


def _pixels(box: Box, height: float) -> Box:
    return box[0] * _SCALE - 2, (height - box[3]) * _SCALE, box[2] * _SCALE + 2, (height - box[1]) * _SCALE


def _boxes(document: ParsedDocument, index: int, lines: Sequence[Line], span: Span) -> list[Box]:
    """Return the boxes, in points, of the parts of the page's lines that lie in the span."""
    page = document.pages[index]
    position, found = page.start, []
    for line in lines:
        text = line.text.strip()
        at = document.text.find(text, position, page.end) if text else -1
        if at < 0:
            continue
        position = at + len(text)
        start, end = max(at, span.start), min(position, span.end)
        if start < end:
            left, right = _extent(line, start - at, end - at, len(text))
            found.append((left, line.y - 0.28 * line.size, right, line.y + 0.82 * line.size))
    return found


def _extent(line: Line, start: int, end: int, length: int) -> tuple[float, float]:
    """Return where the characters `[start, end)` of a stripped line begin and end across the page."""
    indent = len(line.text) - len(line.text.lstrip())
    words = [word for word in line.words if word.end > start + indent and word.start < end + indent]
    if words:
        return words[0].x0, words[-1].x1
    width = line.x1 - line.x0
    return line.x0 + width * start / length, line.x0 + width * end / length


def _png(image: "Image.Image") -> bytes:
    stream = io.BytesIO()
    image.quantize(_COLOURS).save(stream, format="PNG", optimize=True)
    return stream.getvalue()
