"""Documents as PDF by reportlab: cover, contents with dotted leaders, running header and footer, printed page labels.

Streams are not compressed, so that the bytes do not depend on the zlib of the machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY
from reportlab.lib.pagesizes import letter
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import inch
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    TableStyle,
)
from reportlab.platypus import Table as Grid
from reportlab.platypus.tableofcontents import TableOfContents

from .layout import MARK, Block, Table, figure

_BASE = ParagraphStyle("base", fontName="Times-Roman", fontSize=10.5, leading=13.2, spaceAfter=7, alignment=TA_JUSTIFY)


def _style(name: str, **changes: Any) -> ParagraphStyle:
    return ParagraphStyle(name, parent=_BASE, **changes)


_STYLES = {
    "text": _BASE,
    "part": _style(
        "part", fontName="Times-Bold", fontSize=12.5, leading=16, alignment=TA_CENTER, spaceBefore=6, keepWithNext=1
    ),
    "item": _style(
        "item", fontName="Times-Bold", fontSize=11.5, leading=14, alignment=0, spaceBefore=10, keepWithNext=1
    ),
    "sub": _style("sub", fontName="Times-BoldItalic", alignment=0, spaceBefore=5, keepWithNext=1),
    "bullet": _style("bullet", leftIndent=20, bulletIndent=8),
    "center": _style("center", alignment=TA_CENTER, fontSize=9.5, leading=11.5, spaceAfter=5),
    "bold": _style("bold", fontName="Times-Bold", fontSize=11.5, alignment=TA_CENTER, spaceAfter=4),
    "small": _style("small", fontSize=8, leading=9.6),
    "title": _style("title", fontName="Times-Bold", fontSize=16, leading=20, alignment=TA_CENTER),
    "speaker": _style("speaker", fontName="Helvetica-Bold", fontSize=10, alignment=0, spaceBefore=9, keepWithNext=1),
    "caption": _style(
        "caption", fontName="Times-Bold", alignment=TA_CENTER, spaceAfter=1, spaceBefore=6, keepWithNext=1
    ),
    "units": _style("units", fontName="Times-Italic", fontSize=9, alignment=TA_CENTER, spaceAfter=3, keepWithNext=1),
    "cell": _style("cell", fontSize=9, leading=10.6, alignment=0, spaceAfter=0),
    "cellbold": _style("cellbold", fontName="Times-Bold", fontSize=9, leading=10.6, alignment=0, spaceAfter=0),
}


@dataclass(frozen=True)
class Frontmatter:
    """What stands around the body: cover blocks, running header and footer, and how many pages precede page 1."""

    title: str
    author: str
    cover: Sequence[Block]
    header: str
    footer: str
    contents: bool = True
    page_word: str = ""


class _Document(BaseDocTemplate):
    """A document that reports its headings to the contents list under the printed page number."""

    def __init__(self, path: Path, front: Frontmatter) -> None:
        super().__init__(
            str(path),
            pagesize=letter,
            invariant=1,
            pageCompression=0,
            title=front.title,
            author=front.author,
            subject=MARK,
            creator="make_sample_corpus",
            leftMargin=inch,
            rightMargin=inch,
        )
        self.front, self.leading_pages = front, 2 if front.contents else 1
        frame = Frame(inch, 0.95 * inch, 6.5 * inch, 9.1 * inch, id="body", leftPadding=0, rightPadding=0)
        self.addPageTemplates(
            [
                PageTemplate("cover", [frame], onPage=self._cover),
                PageTemplate("contents", [frame], onPage=self._contents),
                PageTemplate("body", [frame], onPage=self._body_top, onPageEnd=self._body_foot),
            ]
        )

    def _mark(self, canvas) -> None:
        canvas.setFont("Helvetica-Bold", 8)
        canvas.drawCentredString(4.25 * inch, 10.6 * inch, f"{MARK} — figures are invented")

    def _cover(self, canvas, document) -> None:
        canvas.addPageLabel(0, prefix="Cover")
        if self.front.contents:
            canvas.addPageLabel(1, style="ROMAN_LOWER", start=1)
        canvas.addPageLabel(self.leading_pages, style="ARABIC", start=1)
        self._mark(canvas)

    def _contents(self, canvas, document) -> None:
        self._mark(canvas)
        canvas.setFont("Times-Roman", 9)
        canvas.drawCentredString(4.25 * inch, 0.6 * inch, "i")

    def _body_top(self, canvas, document) -> None:
        self._mark(canvas)
        canvas.setFont("Times-Italic", 8.5)
        canvas.drawString(inch, 10.4 * inch, self.front.header)
        canvas.line(inch, 10.33 * inch, 7.5 * inch, 10.33 * inch)

    def _body_foot(self, canvas, document) -> None:
        canvas.setFont("Times-Roman", 9)
        canvas.drawString(inch, 0.6 * inch, self.front.footer)
        label = f"{self.front.page_word} {document.page - self.leading_pages}".strip()
        canvas.drawRightString(7.5 * inch, 0.6 * inch, label)

    def afterFlowable(self, flowable: Any) -> None:
        heading = isinstance(flowable, Paragraph) and flowable.style.name in ("part", "item")
        if heading and self.page > self.leading_pages:
            level = 0 if flowable.style.name == "part" else 1
            title = flowable.getPlainText()
            key = f"p{self.page}-" + "".join(c for c in title.lower() if c.isalnum())[:50]
            self.canv.bookmarkPage(key)
            self.canv.addOutlineEntry(title, key, level=level)
            self.notify("TOCEntry", (level, title, self.page - self.leading_pages, key))


def _grid(table: Table) -> Grid:
    wide = len(table.columns)
    cells: list[list[Any]] = [
        [
            "",
            *[
                Paragraph(c, _style("h", fontName="Times-Bold", fontSize=8.5, leading=9.6, alignment=2, spaceAfter=0))
                for c in table.columns
            ],
        ]
    ]
    rules: list[tuple] = [
        ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
        ("VALIGN", (0, 0), (-1, -1), "BOTTOM"),
        ("FONT", (1, 1), (-1, -1), "Times-Roman", 9),
        ("LINEBELOW", (1, 0), (-1, 0), 0.6, colors.black),
        ("TOPPADDING", (0, 0), (-1, -1), 1.5),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 1.5),
    ]
    for number, row in enumerate(table.rows, start=1):
        values = [figure(v, row.unit) for v in row.values] or [""] * wide
        if row.sign:
            values = [f"$ {v}" if v else v for v in values]
        if row.unit == "percent":
            values = [f"{v} %" if v and v != "—" and v[-1].isdigit() else v.replace(")", ") %") for v in values]
        cells.append([Paragraph(escape(row.label), _STYLES["cellbold" if row.head or row.total else "cell"]), *values])
        if row.total:
            rules.append(("LINEABOVE", (1, number), (-1, number), 0.6, colors.black))
            rules.append(("FONT", (1, number), (-1, number), "Times-Bold", 9))
        elif number % 2:
            rules.append(("BACKGROUND", (0, number), (-1, number), colors.Color(0.92, 0.95, 0.98)))
    column = min(1.15, 4.1 / max(wide, 1)) * inch
    return Grid(cells, colWidths=[6.5 * inch - wide * column, *[column] * wide], style=TableStyle(rules), repeatRows=1)


def _register(table: Table) -> Grid:
    """A table of words, as on cover pages: centered columns of equal width, no rules but those under the headings."""
    center = _style("register", fontSize=9, leading=10.6, alignment=TA_CENTER, spaceAfter=0)
    bold = _style("registerhead", fontName="Times-Bold", fontSize=9, leading=10.6, alignment=TA_CENTER, spaceAfter=0)
    rows = [[Paragraph(escape(c), bold) for c in ("", *table.columns)]] if any(table.columns) else []
    rows += [[Paragraph(escape(str(c or "")), center) for c in (row.label, *row.values)] for row in table.rows]
    wide = len(table.columns) + 1
    style = TableStyle([("TOPPADDING", (0, 0), (-1, -1), 1), ("BOTTOMPADDING", (0, 0), (-1, -1), 1)])
    return Grid(rows, colWidths=[6.5 * inch / wide] * wide, style=style)


def _flow(block: Block) -> list[Any]:
    if block.kind == "page":
        return [PageBreak()]
    if block.table is not None:
        table = block.table
        if not table.caption:
            return [_register(table), Spacer(1, 6)]
        return [
            Paragraph(escape(table.caption), _STYLES["caption"]),
            Paragraph(escape(table.units), _STYLES["units"]),
            _grid(table),
            Spacer(1, 8),
        ]
    text = escape(block.text)
    if block.kind == "bullet":
        return [Paragraph(text, _STYLES["bullet"], bulletText="•")]
    return [Paragraph(text, _STYLES[block.kind])]


def write_pdf(path: Path, front: Frontmatter, body: Sequence[Block]) -> None:
    """Write a document; the same input gives the same bytes."""
    story: list[Any] = [flow for block in front.cover for flow in _flow(block)]
    if front.contents:
        contents = TableOfContents(dotsMinLevel=0)
        contents.levelStyles = [
            ParagraphStyle("t0", fontName="Times-Bold", fontSize=10, leading=13, spaceBefore=2, rightIndent=24),
            ParagraphStyle("t1", fontName="Times-Roman", fontSize=9.5, leading=12, leftIndent=14, rightIndent=24),
        ]
        story += [NextPageTemplate("contents"), PageBreak(), Paragraph("TABLE OF CONTENTS", _STYLES["title"]), contents]
    story += [NextPageTemplate("body"), PageBreak()]
    story += [flow for block in body for flow in _flow(block)]
    _Document(path, front).multiBuild(story)
