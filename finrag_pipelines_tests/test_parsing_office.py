"""Word documents, mail and Markdown become layouts with metadata, titles, list items and tables of values."""

import io
import zipfile
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

import pytest
from docx import Document

from finrag_pipelines.parsing.model import ElementKind, Layout, Row, UnreadableError
from finrag_pipelines.parsing.readers.office import read_docx, read_email, read_markdown

MARKDOWN = """---
title: Commodity note
author: A. Writer
subjects: [Acme, Bolt]
date: 2025-03-04
---

# Input costs

Sugar is **dear** and [cocoa](https://example.com/c) too,
and it stays so.

- first point
2. second point

Results
(in millions)

|    |          |                    |       |       |       |
|---:|:---------|:-------------------|:------|:------|:------|
|  1 |          | Three Months Ended |       |       |       |
|  2 |          | 2025               |       | 2024  |       |
|  3 | Sales    | $                  | 1,234 | $     | 1,100 |
|  5 | Costs    | (900)              |       | (850) |       |

<table><tr><td></td><td colspan="2">December 31,</td></tr><tr><td></td><td>2024</td><td>2023</td></tr>
<tr><td>Cash</td><td>$10</td><td>$9</td></tr></table>
"""


def row_of(layout: Layout, label: str) -> Row:
    return next(row for table in layout.tables for row in table.rows if row.label == label)


def texts(layout: Layout, kind: ElementKind) -> list[str]:
    return [layout.text[e.start : e.end] for e in layout.elements if e.kind == kind]


def make_docx() -> bytes:
    document = Document()
    properties = document.core_properties
    properties.author, properties.title, properties.subject = "A. Writer", "Memo on margins", "Acme"
    properties.created = datetime(2025, 3, 4, 9, 0)
    document.sections[0].header.paragraphs[0].text = "CONFIDENTIAL"
    document.add_heading("Margins", 1)
    document.add_paragraph("Margins narrowed because freight rose. They will not recover this year.")
    document.add_paragraph("Freight", style="List Bullet")
    table = document.add_table(3, 3)
    for position, text in enumerate(["", "2025", "2024", "Revenue", "$1,234", "$1,100", "Loss", "(12)", "—"]):
        table.cell(position // 3, position % 3).text = text
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def zip_of(entries: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_front_matter_becomes_metadata_and_leaves_the_text() -> None:
    layout = read_markdown(MARKDOWN.encode())
    assert layout.metadata == {
        "title": "Commodity note",
        "author": "A. Writer",
        "subjects": "Acme; Bolt",
        "date": "2025-03-04",
    }
    assert layout.text.startswith("Input costs\n\nSugar is dear and cocoa too, and it stays so.")


def test_markdown_blocks_have_their_kinds() -> None:
    layout = read_markdown(MARKDOWN.encode())
    assert texts(layout, ElementKind.TITLE) == ["Input costs"]
    assert texts(layout, ElementKind.LIST_ITEM) == ["first point", "2. second point"]


def test_figures_of_a_table_without_spans_find_their_columns_by_order() -> None:
    layout = read_markdown(MARKDOWN.encode())
    for label, values in (("Sales", ["1234", "1100"]), ("Costs", ["-900", "-850"])):
        cells = row_of(layout, label).cells
        assert [cell.value for cell in cells] == values
        assert [cell.header for cell in cells] == ["Three Months Ended 2025", "Three Months Ended 2024"]


def test_html_tables_inside_markdown_are_read_with_their_spans() -> None:
    cells = row_of(read_markdown(MARKDOWN.encode()), "Cash").cells
    assert [(cell.header, cell.value, cell.unit) for cell in cells] == [
        ("December 31, 2024", "10", "USD"),
        ("December 31, 2023", "9", "USD"),
    ]


def test_a_word_memo_keeps_its_properties_elements_and_table() -> None:
    layout = read_docx(make_docx())
    assert layout.metadata["author"] == "A. Writer"
    assert layout.metadata["date"] == "2025-03-04"
    assert layout.metadata["subject"] == "Acme"
    assert texts(layout, ElementKind.HEADER) == ["CONFIDENTIAL"]
    assert texts(layout, ElementKind.TITLE) == ["Margins"]
    assert texts(layout, ElementKind.LIST_ITEM) == ["Freight"]
    assert [(cell.header, cell.value) for cell in row_of(layout, "Loss").cells] == [("2025", "-12"), ("2024", "0")]
    assert layout.text == layout.text.strip()


def test_the_pipeline_of_unstructured_is_still_where_it_is_replaced() -> None:
    from unstructured.nlp import tokenize

    from finrag_pipelines.parsing.readers.unstructured_offline import prepare_unstructured

    prepare_unstructured()
    assert tokenize.sent_tokenize("Costs rose. Prices followed.") == ["Costs rose.", "Prices followed."]
    assert tokenize._get_nlp().pipe_names == ["sentencizer"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"PK\x03\x04 but no archive", "not_a_docx"),
        (zip_of({"readme.txt": b"hello"}), "not_a_docx"),
        (zip_of({"word/document.xml": b"0" * 60_000_000, "[Content_Types].xml": b"<x/>"}), "zip_bomb"),
        (zip_of({"word/document.xml": b"<broken", "[Content_Types].xml": b"<broken"}), "damaged"),
    ],
)
def test_what_is_no_word_document_is_refused_with_its_reason(content: bytes, code: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read_docx(content)
    assert caught.value.code == code


def message_of(html: str | None = None) -> bytes:
    message = EmailMessage()
    message["From"] = "Jane Doe <jane@example.com>"
    message["To"] = "team@example.com"
    message["Date"] = "Mon, 03 Mar 2025 10:00:00 -0500"
    message["Subject"] = "Zucker und Kakao – Préis"
    message.set_content("Sugar is dear.\n\n- cocoa too\n")
    if html:
        message.add_alternative(html, subtype="html")
    message.add_attachment(b"1,2", maintype="text", subtype="csv", filename="prices.csv")
    return message.as_bytes()


def test_mail_headers_become_metadata() -> None:
    metadata = read_email(message_of()).metadata
    assert metadata["author"] == "Jane Doe"
    assert metadata["date"] == "2025-03-03"
    assert metadata["subject"] == metadata["title"] == "Zucker und Kakao – Préis"
    assert metadata["attachments"] == "prices.csv"


def test_the_body_of_a_mail_is_read_from_either_part() -> None:
    plain = read_email(message_of())
    assert texts(plain, ElementKind.PARAGRAPH)[-1] == "Sugar is dear."
    assert texts(plain, ElementKind.LIST_ITEM) == ["cocoa too"]
    rows = "<tr><td></td><td>2025</td></tr><tr><td>Sugar</td><td>$5</td></tr><tr><td>Cocoa</td><td>$7</td></tr>"
    table = f"<table>{rows}</table>"
    assert row_of(read_email(message_of(f"<p>See:</p>{table}")), "Cocoa").cells[0].value == "7"


def test_empty_and_oversized_texts_are_refused() -> None:
    for reader in (read_markdown, read_email):
        with pytest.raises(UnreadableError) as caught:
            reader(b"x" * (33 * 2**20))
        assert caught.value.code == "too_large"
    with pytest.raises(UnreadableError) as caught:
        read_markdown(b" \n\n ")
    assert caught.value.code == "no_text"


@pytest.mark.slow
def test_real_markdown_filings_give_their_figures(corpus: Path) -> None:
    expected = {
        "MDLZ_10-Q_2024Q2.md": ("Net revenues", "8343"),
        "UNH_10-K_FY2024.md": ("Total current assets", "85779"),
        "NVDA_10-K_FY2024.md": ("Total current assets", "44345"),
    }
    for name, (label, value) in expected.items():
        layout = read_markdown((corpus / "sec" / name).read_bytes())
        assert any(
            (cell.value, cell.unit, cell.scale) == (value, "USD", 6) and cell.header
            for table in layout.tables
            for row in table.rows
            if row.label == label
            for cell in row.cells
        ), name
