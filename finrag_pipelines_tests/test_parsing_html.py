"""HTML becomes canonical text, elements, tables with meaning, pages and facts; hostile HTML ends in a clear error."""

import re
import time
from pathlib import Path

import pytest

from finrag_pipelines.parsing.model import FURNITURE, Cell, ElementKind, Layout, Row, UnreadableError
from finrag_pipelines.parsing.readers.html import read_html

IXBRL = """<?xml version='1.0' encoding='ASCII'?>
<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><head><title>abc-20250930</title></head><body>
<div style="display:none"><ix:header><ix:hidden>
<ix:nonNumeric name="dei:EntityCentralIndexKey" contextRef="q3">0000012345</ix:nonNumeric></ix:hidden><ix:resources>
<xbrli:context id="q3"><xbrli:entity><xbrli:identifier scheme="s">12345</xbrli:identifier></xbrli:entity>
<xbrli:period><xbrli:startDate>2025-07-01</xbrli:startDate><xbrli:endDate>2025-09-30</xbrli:endDate></xbrli:period>
</xbrli:context>
<xbrli:context id="seg"><xbrli:entity><xbrli:segment><xbrldi:explicitMember 
dimension="us-gaap:ProductAxis">abc:WidgetMember</xbrldi:explicitMember></xbrli:segment></xbrli:entity>
<xbrli:period><xbrli:startDate>2025-01-01</xbrli:startDate><xbrli:endDate>2025-09-30</xbrli:endDate></xbrli:period>
</xbrli:context>
<xbrli:unit id="usd"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit>
<xbrli:unit id="eps"><xbrli:divide><xbrli:unitNumerator><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unitNumerator>
<xbrli:unitDenominator><xbrli:measure>xbrli:shares</xbrli:measure></xbrli:unitDenominator></xbrli:divide></xbrli:unit>
</ix:resources></ix:header></div>
<div>This is <ix:nonNumeric name="dei:DocumentType" contextRef="q3">10-Q</ix:nonNumeric> text.</div>
<div style="text-align:center"><span style="font-weight:700">STATEMENTS OF INCOME</span></div>
<div>(In millions, except per share data)</div>
<table>
<tr><td colspan="3"></td><td colspan="6" style="text-align:center">Three Months Ended</td></tr>
<tr><td colspan="3"></td><td colspan="3">September 30,<br>2025</td><td colspan="3">September 30,<br>2024</td></tr>
<tr><td colspan="3">Revenues:</td></tr>
<tr><td colspan="3" style="padding-left:10pt">Products</td>
<td>$</td><td><ix:nonFraction name="us-gaap:Revenues" contextRef="q3" unitRef="usd" scale="6"
>1,234</ix:nonFraction></td><td></td>
<td>$</td><td>1,100</td><td></td></tr>
<tr><td colspan="3" style="padding-left:10pt">Adjustments</td>
<td colspan="2">(<ix:nonFraction name="abc:Adjustments"
contextRef="seg" unitRef="usd" scale="6" sign="-">12</ix:nonFraction></td><td>)</td>
<td colspan="2">&#8212;</td><td></td></tr>
<tr><td colspan="3">Total revenues</td><td colspan="2">1,222<sup>1</sup></td><td></td>
<td colspan="2">1,100</td><td></td></tr>
<tr><td colspan="3">Diluted earnings per share</td><td>$</td><td><ix:nonFraction name="us-gaap:EarningsPerShareDiluted"
contextRef="q3" unitRef="eps">0.88</ix:nonFraction></td><td></td><td>$</td><td>0.79</td><td></td></tr>
<tr><td colspan="3">Change</td><td colspan="2">11.1</td><td>%</td><td colspan="2">(2.5</td><td>)%</td></tr>
</table></body></html>"""


def layout_of(body: str) -> Layout:
    return read_html(f"<html><body>{body}</body></html>".encode())


def row_of(layout: Layout, label: str) -> Row:
    return next(row for table in layout.tables for row in table.rows if row.label == label)


def value_cells(layout: Layout) -> list[Cell]:
    return [cell for table in layout.tables for row in table.rows for cell in row.cells if cell.value is not None]


def assert_covered(layout: Layout) -> None:
    position = 0
    for element in layout.elements:
        assert position <= element.start < element.end
        assert not layout.text[position : element.start].strip()
        position = element.end
    assert not layout.text[position:].strip()


@pytest.fixture(scope="module")
def filing() -> Layout:
    return read_html(IXBRL.encode())


def test_hidden_headers_never_become_text_but_their_facts_are_kept(filing: Layout) -> None:
    assert "0000012345" not in filing.text
    key = next(fact for fact in filing.facts if fact.concept == "dei:EntityCentralIndexKey")
    assert (key.value, key.start, key.period_end) == ("0000012345", None, "2025-09-30")


def test_a_visible_fact_reads_back_at_its_range(filing: Layout) -> None:
    for fact in filing.facts:
        if fact.start is not None:
            assert filing.text[fact.start : fact.end] == fact.value
    form = next(fact for fact in filing.facts if fact.concept == "dei:DocumentType")
    assert form.value == "10-Q"


def test_facts_carry_unit_scale_sign_and_dimensions(filing: Layout) -> None:
    fact = next(fact for fact in filing.facts if fact.concept == "abc:Adjustments")
    assert (fact.value, fact.unit, fact.scale, fact.negative) == ("12", "USD", 6, True)
    assert fact.dimensions == ("us-gaap:ProductAxis=abc:WidgetMember",)


def test_split_currency_and_parentheses_become_one_cell(filing: Layout) -> None:
    texts = [filing.text[cell.start : cell.end] for cell in row_of(filing, "Adjustments").cells]
    assert texts == ["(12)", "—"]
    assert [filing.text[c.start : c.end] for c in row_of(filing, "Products").cells] == ["$1,234", "$1,100"]
    assert [cell.value for cell in row_of(filing, "Adjustments").cells] == ["-12", "0"]


def test_header_rows_join_top_down_over_their_columns(filing: Layout) -> None:
    headers = [cell.header for cell in row_of(filing, "Products").cells]
    assert headers == ["Three Months Ended September 30, 2025", "Three Months Ended September 30, 2024"]


def test_units_come_from_the_tag_or_else_from_the_line_above(filing: Layout) -> None:
    tagged, plain = row_of(filing, "Products").cells
    assert (tagged.concept, tagged.unit, tagged.scale, tagged.duration) == ("us-gaap:Revenues", "USD", 6, "quarter")
    assert (plain.concept, plain.unit, plain.scale) == (None, "USD", 6)
    assert [(cell.unit, cell.scale) for cell in row_of(filing, "Diluted earnings per share").cells] == [
        ("USD/share", 0)
    ] * 2
    assert [(cell.value, cell.unit) for cell in row_of(filing, "Change").cells] == [
        ("11.1", "percent"),
        ("-2.5", "percent"),
    ]
    assert row_of(filing, "Adjustments").cells[0].duration == "ytd"


def test_a_raised_footnote_mark_is_no_digit_of_the_figure(filing: Layout) -> None:
    assert row_of(filing, "Total revenues").cells[0].value == "1222"


def test_rows_know_the_group_they_stand_under_until_its_total(filing: Layout) -> None:
    assert row_of(filing, "Products").path == ("Revenues:",)
    assert row_of(filing, "Total revenues").path == ("Revenues:",)
    assert row_of(filing, "Diluted earnings per share").path == ()


def test_a_table_has_the_title_before_it_as_caption_and_the_units_line(filing: Layout) -> None:
    assert filing.tables[0].caption == "STATEMENTS OF INCOME"
    assert filing.tables[0].units == "(In millions, except per share data)"


def test_a_table_row_is_one_line_with_tabs(filing: Layout) -> None:
    row = row_of(filing, "Products")
    assert filing.text[row.start : row.end] == "Products\t$1,234\t$1,100"


def test_elements_are_ordered_and_cover_all_text(filing: Layout) -> None:
    assert_covered(filing)
    assert any(filing.text[e.start : e.end] == "STATEMENTS OF INCOME" for e in filing.elements if e.kind == "title")


def test_a_second_header_block_in_a_table_replaces_the_first() -> None:
    layout = layout_of(
        "<table><tr><td></td><td colspan=2>Three months ended June 30,</td></tr>"
        "<tr><td></td><td>2025</td><td>2024</td></tr><tr><td>Sales</td><td>10</td><td>9</td></tr>"
        "<tr><td></td><td colspan=2>Six months ended June 30,</td></tr>"
        "<tr><td></td><td>2025</td><td>2024</td></tr><tr><td>Sales</td><td>20</td><td>18</td></tr></table>"
    )
    assert [cell.header for cell in value_cells(layout) if cell.value in ("9", "18")] == [
        "Three months ended June 30, 2024",
        "Six months ended June 30, 2024",
    ]


def test_a_layout_table_becomes_list_items_and_headings_not_a_table() -> None:
    layout = layout_of(
        "<table><tr><td>&#8226;</td><td>First point, made at some length.</td></tr></table>"
        "<table><tr><td><b>Item 2.</b></td><td><b>Properties</b></td></tr></table>"
    )
    assert layout.tables == ()
    assert [(e.kind, layout.text[e.start : e.end]) for e in layout.elements] == [
        (ElementKind.LIST_ITEM, "• First point, made at some length."),
        (ElementKind.TITLE, "Item 2. Properties"),
    ]


def test_a_table_nested_in_a_layout_table_is_read_as_the_table_it_is() -> None:
    layout = layout_of(
        "<table><tr><td><p>Before.</p><table><tr><td>Sales</td><td>$</td><td>5</td></tr>"
        "<tr><td>Costs</td><td>$</td><td>(4)</td></tr></table><p>After.</p></td></tr></table>"
    )
    assert layout.text == "Before.\n\nSales\t$5\nCosts\t$(4)\n\nAfter."
    assert [cell.value for cell in value_cells(layout)] == ["5", "-4"]


def paged(breaks: str) -> Layout:
    pages = [
        '<p><a href="#toc">Table of Contents</a></p>'
        f"<p>Body of page {n}, a sentence that differs: {'x' * n}.</p><p>{n}</p>{breaks}"
        for n in range(1, 7)
    ]
    return layout_of("".join(pages))


@pytest.mark.parametrize("breaks", ['<hr style="page-break-after:always">', "<PAGE>", "<!-- PAGEBREAK -->", "<hr>", ""])
def test_pages_break_where_the_markup_or_the_printed_numbers_say(breaks: str) -> None:
    layout = paged(breaks)
    assert [page.label for page in layout.pages] == ["1", "2", "3", "4", "5", "6"]
    assert [page.index for page in layout.pages] == list(range(6))
    kinds = [element.kind for element in layout.elements if element.page_index == 2]
    assert kinds == [ElementKind.HEADER, ElementKind.PARAGRAPH, ElementKind.PAGE_NUMBER]
    assert_covered(layout)


def test_a_filing_typewritten_inside_pre_keeps_its_lines_and_pages() -> None:
    layout = layout_of(
        "<pre>\n          ACME CORPORATION\n\nCash &amp; other        $ 1,234    $ 1,100\n\n            2\n<PAGE>\n"
        "Some <b>text</b> that goes on for a while.\n\n            3\n</pre>"
    )
    assert "Cash & other        $ 1,234    $ 1,100" in layout.text
    assert len(layout.pages) == 2
    assert layout.kind == "html"
    assert_covered(layout)


def test_a_contents_list_is_furniture_and_its_links_lead_to_their_targets() -> None:
    rows = "".join(
        f'<tr><td><a href="#i{n}">Item {n}.</a></td><td>Subject {n}</td><td>{n * 3}</td></tr>' for n in range(1, 6)
    )
    items = "".join(f'<div id="i{n}"></div><p><b>Item {n}. Subject {n}</b></p><p>Text of it.</p>' for n in range(1, 6))
    layout = layout_of(f"<p><b>Table of Contents</b></p><table>{rows}</table>{items}")
    assert [e.kind for e in layout.elements][:2] == [ElementKind.CONTENTS, ElementKind.CONTENTS]
    for words, target in layout.anchors:
        assert layout.text[target:].startswith(words)
    assert len(layout.anchors) == 5


def test_a_balance_sheet_that_links_to_notes_is_no_contents_list() -> None:
    rows = "".join(f'<tr><td><a href="#n{n}">Asset {n}</a></td><td>$</td><td>{100 - n}</td></tr>' for n in range(1, 6))
    layout = layout_of(f"<p><b>Table of Contents</b></p><table>{rows}</table><p id=n1>Note</p>")
    assert any(element.kind == ElementKind.TABLE for element in layout.elements)


def test_entities_scripts_and_control_characters_do_no_harm() -> None:
    layout = read_html(
        b'<!DOCTYPE html [<!ENTITY a "aaaa"><!ENTITY f SYSTEM "file:///etc/hostname">]><html><body>'
        b"<script>secret()</script><style>p{}</style><p>one\0two &a; &f;</p></body></html>"
    )
    assert layout.text == "onetwo &a; &f;"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<p>Caf\u00e9 \u201cquoted\u201d</p>".encode("cp1252"), "Café “quoted”"),
        ('<meta charset="gb2312"><p>基金公告，单位净值</p>'.encode("gb18030"), "基金公告，单位净值"),
        ("<p>基金公告，单位净值</p>".encode("utf-16"), "基金公告，单位净值"),
        ('<meta charset="us-ascii"><p>Sales — up</p>'.encode(), "Sales — up"),
        (b"<p>old &#151; dash</p>", "old — dash"),
    ],
)
def test_real_encodings_win_over_declared_ones(content: bytes, text: str) -> None:
    assert read_html(content).text == text


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "no_text"),
        (b"<html><body><img src=x></body></html>", "no_text"),
        (b"<div>" * 10_000 + b"deep", "too_deep"),
        (b"<p>x</p>" * 800_000, "too_large"),
        (b"<p>" + b"a " * (40 * 2**20), "too_large"),
        (b"<p>" + b"a " * (5 * 2**20), "too_large"),
    ],
)
def test_what_cannot_be_read_says_so_at_once(content: bytes, code: str) -> None:
    started = time.monotonic()
    with pytest.raises(UnreadableError) as caught:
        read_html(content)
    assert caught.value.code == code
    assert time.monotonic() - started < 10


def test_absurd_spans_and_nested_tables_stay_bounded() -> None:
    started = time.monotonic()
    wide = "<tr><td colspan=99999999 rowspan=99999999>1</td><td colspan=1000>2</td><td>3</td></tr>" * 200
    nested = "<table><tr><td>" * 500 + "deep" + "</td></tr></table>" * 500
    layout = layout_of(f"<table>{wide}</table>{nested}")
    assert layout.text.endswith("deep")
    assert time.monotonic() - started < 10


@pytest.mark.slow
def test_every_real_filing_is_covered_and_reads_back(corpus: Path) -> None:
    files = sorted([*corpus.glob("sec/*.htm"), *corpus.glob("sec/old/*.htm"), *corpus.glob("funds/*.htm*")])
    for file in files:
        if "truncated" in file.name:
            continue
        layout = read_html(file.read_bytes())
        assert_covered(layout)
        for fact in layout.facts:
            if fact.start is not None and fact.value:
                assert layout.text[fact.start : fact.end] == fact.value, file.name
        for cell in value_cells(layout):
            assert any(
                character.isdigit() or character in "—–-NnoIil" for character in layout.text[cell.start : cell.end]
            )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "label", "value", "scale"),
    [
        ("KO_10-Q_2025Q2.htm", "Net Operating Revenues", "12535", 6),
        ("PEP_10-K_FY2023_0000077476-24-000008.htm", "Total Current Assets", "26950", 6),
        ("8-K_BUCKLE_EX-99.1.htm", "INCOME FROM OPERATIONS", "54483", 3),
        ("old/INTC_10-K_FY2002.htm", "Total assets", "44224", 6),
    ],
)
def test_figures_of_real_statements_are_found_under_their_labels(
    corpus: Path, name: str, label: str, value: str, scale: int
) -> None:
    layout = read_html((corpus / "sec" / name).read_bytes())
    assert any(
        (cell.value, cell.unit, cell.scale) == (value, "USD", scale) and cell.header
        for table in layout.tables
        for row in table.rows
        if row.label == label
        for cell in row.cells
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["KO_10-K_FY2024_filed-2025-02-20.htm", "TRV_10-Q_2023Q3_0000086312-23-000063.htm", "UNH_10-K_FY2024.htm"]
)
def test_units_read_without_tags_agree_with_the_tags(corpus: Path, name: str) -> None:
    content = (corpus / "sec" / name).read_bytes()
    tagged = read_html(content)
    plain = read_html(re.sub(rb"(?i)</?ix:nonfraction[^>]*>", b"", content))
    assert plain.text == tagged.text
    read = {cell.start: (cell.unit, cell.scale) for cell in value_cells(plain)}
    stated = [cell for cell in value_cells(tagged) if cell.concept and cell.value != "0" and cell.unit]
    agreeing = sum(read[cell.start] == (cell.unit, cell.scale) for cell in stated)
    print(f"{name}: {agreeing} of {len(stated)} units and scales as tagged")
    assert len(stated) > 1000
    assert agreeing >= 0.98 * len(stated)


@pytest.mark.slow
def test_a_four_megabyte_filing_is_read_in_seconds(corpus: Path) -> None:
    content = (corpus / "sec" / "GE_10-K_FY2023_0000040545-24-000027.htm").read_bytes()
    started = time.process_time()
    layout = read_html(content)
    assert time.process_time() - started < 3
    assert len({element.kind for element in layout.elements} & FURNITURE) >= 2
