"""The PDF reader on PDFs written here, and on real filings where they are present."""

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import PIL.Image
import pytest

from finrag_pipelines.parsing.model import ElementKind, Layout, UnreadableError
from finrag_pipelines.parsing.page_image import draw_page
from finrag_pipelines.parsing.parse import Overrides, parse
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.readers.pdf import read_pdf
from finrag_pipelines_tests.layout_checks import check_cover, headers_of, rows_of

canvas = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab writes the PDFs of these tests")

Draw = Callable[["Sheet"], None]


class Sheet:
    """A page to draw on, line by line from the top."""

    def __init__(self, pdf: "canvas.Canvas") -> None:
        self.pdf, self.y = pdf, 740.0

    def line(self, *pieces: tuple[float, str, str], size: float = 10, bold: bool = False, step: float = 12) -> None:
        """Draw pieces `(x, alignment, text)` on one line: l, r or c."""
        self.pdf.setFont("Helvetica-Bold" if bold else "Helvetica", size)
        for x, side, text in pieces:
            draw = {"l": self.pdf.drawString, "r": self.pdf.drawRightString, "c": self.pdf.drawCentredString}[side]
            draw(x, self.y, text)
        self.y -= step

    def prose(self, text: str, width: int = 95) -> None:
        words, row = text.split(), ""
        for word in words:
            if len(row) + len(word) > width:
                self.line((60, "l", row))
                row = ""
            row = f"{row} {word}".strip()
        self.line((60, "l", row), step=20)


def pdf_of(*pages: Draw, encrypt: str | None = None) -> bytes:
    buffer = io.BytesIO()
    pdf = canvas.Canvas(buffer, encrypt=encrypt, invariant=1)
    for draw in pages:
        draw(Sheet(pdf))
        pdf.showPage()
    pdf.save()
    return buffer.getvalue()


PROSE = (
    "Net revenue for the year decreased because demand for the products of the segment was lower than in the year "
    "before, and because prices fell in most of the regions in which we sell them through our distributors."
)


def income_statement(sheet: Sheet) -> None:
    sheet.line((306, "c", "Example Devices, Inc."), bold=True)
    sheet.line((306, "c", "Consolidated Statements of Operations"), bold=True, step=18)
    sheet.line((430, "c", "Year Ended"), bold=True)
    sheet.line((360, "c", "December 26,"), (430, "c", "December 27,"), (500, "c", "December 28,"), bold=True)
    sheet.line((360, "c", "2015"), (430, "c", "2014"), (500, "c", "2013"), bold=True)
    sheet.line((306, "c", "(In millions, except per share amounts)"), bold=True)
    for label, *values in (
        ("Net revenue", "3,991", "5,506", "5,299"),
        ("Cost of sales", "2,911", "3,667", "3,321"),
        ("Legal settlements, net", "—", "—", "(48)"),
        ("Operating income (loss)", "(481)", "(155)", "103"),
    ):
        figures = [(x + (3 if v.endswith(")") else 0), "r", v) for x, v in zip((385, 455, 525), values, strict=True)]
        signs = [(x, "l", "$") for x in (335, 405, 475)] if label == "Net revenue" else []
        sheet.line((60, "l", label), *signs, *figures)
    sheet.line((60, "l", "Net loss per share"))
    sheet.line((70, "l", "Basic"), (335, "l", "$"), (388, "r", "(0.84)"), (405, "l", "$"), (458, "r", "(0.53)"))
    sheet.line((60, "l", "Shares used in per share calculation"))
    sheet.line((70, "l", "Basic"), (385, "r", "783"), (455, "r", "768"), (525, "r", "754"))


def test_a_statement_yields_rows_with_values_heads_units_and_paths() -> None:
    layout = read_pdf(pdf_of(income_statement))
    check_cover(layout)
    (table,) = layout.tables
    assert table.units == "(In millions, except per share amounts)"
    assert "Consolidated Statements of Operations" in table.caption
    assert headers_of(table) == [
        "Year Ended December 26, 2015",
        "Year Ended December 27, 2014",
        "Year Ended December 28, 2013",
    ]
    assert rows_of(table) == {
        "Net revenue": ["3991", "5506", "5299"],
        "Cost of sales": ["2911", "3667", "3321"],
        "Legal settlements, net": ["0", "0", "-48"],
        "Operating income (loss)": ["-481", "-155", "103"],
        "Net loss per share > Basic": ["-0.84", "-0.53"],
        "Shares used in per share calculation > Basic": ["783", "768", "754"],
    }
    units = {row.label + str(row.path): (row.cells[0].unit, row.cells[0].scale) for row in table.rows if row.cells}
    assert units["Net revenue()"] == ("USD", 6)
    assert units["Basic('Net loss per share',)"] == ("USD/share", 0)
    assert units["Basic('Shares used in per share calculation',)"] == ("shares", 6)
    revenue = next(row for row in table.rows if row.label == "Net revenue")
    assert layout.text[revenue.cells[0].start : revenue.cells[0].end] == "$ 3,991"


def test_one_table_row_is_one_line_of_the_text() -> None:
    layout = read_pdf(pdf_of(income_statement))
    assert "Net revenue $ 3,991 $ 5,506 $ 5,299\n" in layout.text


def test_numbers_at_the_end_of_sentences_and_labels_are_no_cells() -> None:
    def draw(sheet: Sheet) -> None:
        sheet.prose(PROSE + " The number of employees was 4,096 and the number of sites 12 at the end of 2015")
        sheet.line((420, "r", "2015"), (500, "r", "2014"))
        sheet.line((60, "l", "Reserves (see Notes 15 and 16)"), (420, "r", "8"), (500, "r", "9"))
        sheet.line((60, "l", "Stock issued on December 27, 2014"), (420, "r", "7,017"), (500, "r", "6,949"))

    (table,) = read_pdf(pdf_of(draw)).tables
    assert rows_of(table) == {
        "Reserves (see Notes 15 and 16)": ["8", "9"],
        "Stock issued on December 27, 2014": ["7017", "6949"],
    }


def test_a_label_over_two_lines_is_one_label() -> None:
    def draw(sheet: Sheet) -> None:
        sheet.line((420, "r", "2015"), (500, "r", "2014"))
        sheet.line((60, "l", "Cash"), (420, "r", "10"), (500, "r", "11"))
        sheet.line((60, "l", "Acquisitions, investments in affiliates and"))
        sheet.line((60, "l", "purchases of other assets"), (420, "r", "(16)"), (500, "r", "(13)"))
        sheet.line((60, "l", "Total"), (420, "r", "(6)"), (500, "r", "(2)"))

    (table,) = read_pdf(pdf_of(draw)).tables
    assert "Acquisitions, investments in affiliates and purchases of other assets" in rows_of(table)


def test_heads_over_several_columns_count_for_each_of_them() -> None:
    def draw(sheet: Sheet) -> None:
        sheet.line((335, "c", "Three Months Ended"), (485, "c", "Nine Months Ended"))
        sheet.line((300, "c", "July 1,"), (370, "c", "June 25,"), (450, "c", "July 1,"), (520, "c", "June 25,"))
        sheet.line((300, "c", "2023"), (370, "c", "2022"), (450, "c", "2023"), (520, "c", "2022"))
        for label, *values in (
            ("Products", "60,584", "63,355", "230,901", "245,241"),
            ("Services", "1", "2", "3", "4"),
        ):
            sheet.line((60, "l", label), *((x, "r", v) for x, v in zip((315, 385, 465, 535), values, strict=True)))

    (table,) = read_pdf(pdf_of(draw)).tables
    assert headers_of(table) == [
        "Three Months Ended July 1, 2023",
        "Three Months Ended June 25, 2022",
        "Nine Months Ended July 1, 2023",
        "Nine Months Ended June 25, 2022",
    ]


def test_a_table_that_goes_on_over_a_page_keeps_its_heads() -> None:
    def first(sheet: Sheet) -> None:
        sheet.prose(PROSE)
        sheet.line((60, "l", "(In thousands)"), (420, "r", "2015"), (500, "r", "2014"))
        sheet.line((60, "l", "Cash"), (420, "r", "10"), (500, "r", "11"))
        sheet.line((60, "l", "Inventories"), (420, "r", "20"), (500, "r", "21"))

    def second(sheet: Sheet) -> None:
        sheet.line((60, "l", "Goodwill"), (420, "r", "278"), (500, "r", "320"))
        sheet.line((60, "l", "Other assets"), (420, "r", "30"), (500, "r", "31"))

    tables = read_pdf(pdf_of(first, second)).tables
    assert [headers_of(table) for table in tables] == [["2015", "2014"], ["2015", "2014"]]
    assert {cell.scale for table in tables for row in table.rows for cell in row.cells} == {3}


def filing_page(number: int, label: str | None) -> Draw:
    def draw(sheet: Sheet) -> None:
        sheet.line((60, "l", "Example Devices, Inc."), step=24)
        sheet.line((60, "l", f"Subject {chr(65 + number)}"), bold=True, step=16)
        sheet.prose(f"Part {number}. {PROSE}")
        sheet.y = 40
        if label:
            sheet.line((306, "c", label))

    return draw


def kinds_of(layout: Layout, text: str) -> set[ElementKind]:
    return {e.kind for e in layout.elements if layout.text[e.start : e.end] == text}


def test_page_index_and_printed_label_are_two_things() -> None:
    labels = [None, "1", "2", "3", "4", None, "F-1", "F-2", "F-3"]
    layout = read_pdf(pdf_of(*(filing_page(i, label) for i, label in enumerate(labels))))
    check_cover(layout)
    assert [page.index for page in layout.pages] == list(range(9))
    assert [page.label for page in layout.pages] == labels
    assert kinds_of(layout, "F-2") == {ElementKind.PAGE_NUMBER}
    assert kinds_of(layout, "Example Devices, Inc.") == {ElementKind.HEADER}
    assert kinds_of(layout, "Subject D") == {ElementKind.TITLE}


def test_a_lonely_number_is_no_page_label() -> None:
    labels = ["7", "1999", None, "12", None, "3", None, None, "40"]
    layout = read_pdf(pdf_of(*(filing_page(i, label) for i, label in enumerate(labels))))
    assert {page.label for page in layout.pages} == {None}


def test_a_contents_list_is_furniture_and_stays_in_the_text() -> None:
    def contents(sheet: Sheet) -> None:
        sheet.line((306, "c", "TABLE OF CONTENTS"), bold=True)
        for item, page in (("Item 1. Business", 3), ("Item 1A. Risk Factors", 9), ("Item 2. Properties", 20)):
            sheet.line((60, "l", item), (520, "r", str(page)))
        sheet.line((60, "l", "Item 7. Discussion and Analysis"), (520, "r", "31"))

    layout = read_pdf(pdf_of(contents, filing_page(1, None)))
    check_cover(layout)
    (block,) = [e for e in layout.elements if e.kind is ElementKind.CONTENTS]
    assert "Item 1A. Risk Factors 9" in layout.text[block.start : block.end]
    assert not layout.tables


def test_the_lines_of_a_paragraph_are_one_range_on_one_line() -> None:
    layout = read_pdf(pdf_of(filing_page(0, None)))
    (paragraph,) = [e for e in layout.elements if e.kind is ElementKind.PARAGRAPH and e.end - e.start > 100]
    assert layout.text[paragraph.start : paragraph.end] == f"Part 0. {PROSE}"


def test_a_cut_off_file_is_named_as_such() -> None:
    content = pdf_of(income_statement)
    with pytest.raises(UnreadableError, match="fetch it again") as caught:
        read_pdf(content[: len(content) // 8])
    assert caught.value.code == "pdf_truncated"


def test_a_password_is_named_as_such() -> None:
    with pytest.raises(UnreadableError, match="password") as caught:
        read_pdf(pdf_of(income_statement, encrypt="secret"))
    assert caught.value.code == "pdf_password"


def test_a_scan_without_text_says_that_ocr_is_not_included() -> None:
    with pytest.raises(UnreadableError, match="OCR is not included") as caught:
        read_pdf(pdf_of(lambda sheet: sheet.pdf.rect(50, 50, 400, 400)))
    assert caught.value.code == "pdf_no_text"


def test_too_many_pages_and_too_much_time_are_refused() -> None:
    content = pdf_of(*(filing_page(i, None) for i in range(3)))
    with pytest.raises(UnreadableError, match="3 pages; at most 2") as caught:
        read_pdf(content, max_pages=2)
    assert caught.value.code == "pdf_too_many_pages"
    with pytest.raises(UnreadableError) as caught:
        read_pdf(content, deadline=Deadline(0.0))
    assert caught.value.code == "time_budget"


def test_the_same_bytes_give_the_same_layout() -> None:
    content = pdf_of(income_statement, filing_page(1, "2"))
    assert read_pdf(content) == read_pdf(content)


def layout_of(corpus: Path, name: str) -> Layout:
    return read_pdf((corpus / "financebench" / "pdfs" / name).read_bytes())


def found(layout: Layout, label: str, header: str) -> set[tuple[str | None, str | None, int]]:
    return {
        (cell.value, cell.unit, cell.scale)
        for table in layout.tables
        for row in table.rows
        if row.label.lower() == label.lower()
        for cell in row.cells
        if header.lower() in cell.header.lower()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "label", "header", "expected"),
    [
        ("AMD_2015_10K.pdf", "Inventories, net", "December 26, 2015", ("678", "USD", 6)),
        ("AMD_2015_10K.pdf", "Total current liabilities", "December 27, 2014", ("1440", "USD", 6)),
        ("WALMART_2018_10K.pdf", "Total current liabilities", "January 31, 2017", ("66928", "USD", 6)),
        ("NETFLIX_2015_10K.pdf", "Total current liabilities", "December 31, 2015", ("3529624", "USD", 3)),
        ("MICROSOFT_2016_10K.pdf", "Diluted", "2015", ("1.48", "USD/share", 0)),
        ("PEPSICO_2023Q1_EARNINGS.pdf", "Capital spending", "3/25/2023", ("-581", "USD", 6)),
        ("NIKE_2018_10K.pdf", "Total current assets", "2018", ("15134", "USD", 6)),
        ("KRAFTHEINZ_2019_10K.pdf", "Total current liabilities", "December 29, 2018", ("7503", "USD", 6)),
        ("APPLE_2023Q3_10Q.pdf", "Total net sales", "Nine Months Ended July 1, 2023", ("293787", "USD", 6)),
        ("COCACOLA_2020_10K.pdf", "Total current liabilities", "2020", ("14601", "USD", 6)),
    ],
)
def test_statements_of_real_filings_give_their_figures(
    corpus: Path, name: str, label: str, header: str, expected: tuple[str, str, int]
) -> None:
    assert expected in found(layout_of(corpus, name), label, header)


@pytest.mark.slow
def test_every_character_of_real_filings_lies_in_an_element(corpus: Path) -> None:
    for path in sorted((corpus / "financebench" / "pdfs").glob("*_20[12][0-9]_10K.pdf"))[::4]:
        layout = read_pdf(path.read_bytes())
        check_cover(layout)
        assert sum(page.label is not None for page in layout.pages) > 0.4 * len(layout.pages), path.name


def test_a_sentence_set_in_bold_is_the_title_of_what_stands_below_it_also_over_two_lines() -> None:
    one = "Our products are subject to the risks of sourcing, making and paying for them abroad."
    two = "We must keep the good will of those who sell what we make in their own stores and on the web,"

    def draw(sheet: Sheet) -> None:
        sheet.prose(PROSE)
        sheet.line((60, "l", one), bold=True)
        sheet.prose(PROSE)
        sheet.line((60, "l", two), bold=True)
        sheet.line((60, "l", "including those who only sell our own brands."), bold=True, step=18)
        sheet.prose(PROSE)

    layout = read_pdf(pdf_of(draw))
    titles = [layout.text[e.start : e.end] for e in layout.elements if e.kind is ElementKind.TITLE]
    assert [title.split()[0] for title in titles] == ["Our", "We"]
    assert titles[1].endswith("on the web, including those who only sell our own brands.")


def test_figures_a_little_above_their_label_are_cells_and_footnote_marks_are_not() -> None:
    def draw(sheet: Sheet) -> None:
        sheet.line((420, "r", "2015"), (500, "r", "2014"))
        for label, figures, lift in (
            ("Other assets", (("420", "2,841"), ("500", "3,381")), 0),
            ("TOTAL ASSETS", (("420", "$ 59,268"), ("500", "$ 55,556")), 2),
            ("Accounts payable", (("420", "16,278"), ("500", "14,172")), 0),
        ):
            sheet.pdf.setFont("Helvetica", 10)
            sheet.pdf.drawString(60, sheet.y, label)
            for x, text in figures:
                sheet.pdf.drawRightString(float(x), sheet.y + lift, text)
            if label == "Accounts payable":  # a mark, raised and small, right behind its figure
                sheet.pdf.setFont("Helvetica", 6)
                sheet.pdf.drawString(501, sheet.y + 4, "(1)")
            sheet.y -= 12

    (table,) = read_pdf(pdf_of(draw)).tables
    assert rows_of(table) == {
        "Other assets": ["2841", "3381"],
        "TOTAL ASSETS": ["59268", "55556"],
        "Accounts payable": ["16278", "14172"],
    }


def test_a_page_is_drawn_with_the_boxes_of_what_was_found_on_it() -> None:
    content = pdf_of(income_statement)
    stated = Overrides(company="AMD", form="10-K", period="FY2015", filed="2016-02-18")
    document = parse(content, "statement.pdf", stated)
    boxed, bare = (
        PIL.Image.open(io.BytesIO(draw_page(content, one, 0))) for one in (document, replace(document, elements=()))
    )
    assert boxed.size == bare.size
    assert len(boxed.getcolors(1 << 24)) > len(bare.getcolors(1 << 24))
