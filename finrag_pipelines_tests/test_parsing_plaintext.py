"""Plain text and full submissions: encodings, pages, ASCII tables, SGML headers, joined exhibits."""

import time
from pathlib import Path

import pytest

from finrag_pipelines.parsing.model import ElementKind, UnreadableError
from finrag_pipelines.parsing.readers.plaintext import decode, read_text
from finrag_pipelines.parsing.readers.submission import read_submission, split_submission
from finrag_pipelines_tests.layout_checks import check_cover, headers_of, rows_of

STATEMENT = """
                              EXAMPLE COMPUTER, INC.

           CONDENSED CONSOLIDATED STATEMENTS OF OPERATIONS (Unaudited)
                (in millions, except share and per share amounts)

<TABLE>
<CAPTION>
                                            Three Months Ended                Six Months Ended
                                            ------------------                ----------------
                                      April 1, 2000   March 27, 1999    April 1, 2000   March 27, 1999
                                      -------------   --------------    -------------   --------------
<S>                                        <C>              <C>              <C>              <C>
Net sales.........................         $  1,945         $  1,530         $  4,288         $  3,240
Cost of sales.....................            1,396            1,127            3,132            2,355
                                           --------         --------         --------         --------
   Gross margin                                 549              403            1,156              885
Earnings per common share:
   Basic                                   $   1.44         $   0.99         $   2.57         $   (.11)
</TABLE>

                                       2

<PAGE>
"""


def test_an_ascii_table_yields_rows_heads_and_units() -> None:
    layout = read_text((STATEMENT + STATEMENT.replace("   2\n", "   3\n") + "The end.").encode())
    check_cover(layout)
    table = layout.tables[0]
    assert headers_of(table) == [
        "Three Months Ended April 1, 2000",
        "Three Months Ended March 27, 1999",
        "Six Months Ended April 1, 2000",
        "Six Months Ended March 27, 1999",
    ]
    assert rows_of(table) == {
        "Net sales": ["1945", "1530", "4288", "3240"],
        "Cost of sales": ["1396", "1127", "3132", "2355"],
        "Gross margin": ["549", "403", "1156", "885"],
        "Earnings per common share: > Basic": ["1.44", "0.99", "2.57", "-0.11"],
    }
    assert table.rows[-1].cells[0].unit == "USD/share"
    assert "<TABLE>" not in layout.text and "-----" not in layout.text


def test_pages_are_cut_at_marks_and_form_feeds_and_keep_their_printed_numbers() -> None:
    pages = [f"Section {i}\n\nSome words about it, number {chr(97 + i)}.\n\n{' ' * 30}{i + 1}\n" for i in range(4)]
    for mark in ("\f", "\n<PAGE>\n", "\f\n<PAGE>\n"):
        layout = read_text(mark.join(pages).encode())
        check_cover(layout)
        assert [page.label for page in layout.pages] == ["1", "2", "3", "4"]
        assert [page.index for page in layout.pages] == [0, 1, 2, 3]


def test_a_text_without_page_marks_has_no_pages() -> None:
    layout = read_text(b"A memo.\n\nIt has two paragraphs.\n")
    assert layout.pages == ()
    assert {element.page_index for element in layout.elements} == {None}


def test_dotted_leaders_of_a_contents_list_are_furniture() -> None:
    text = "TABLE OF CONTENTS\n\n" + "".join(
        f"Item {i}. Heading {chr(64 + i)} {'.' * 40} {i * 3}\n" for i in range(1, 8)
    )
    layout = read_text((text + "\nItem 1. Heading A\n\nThe business is this and that.\n").encode())
    check_cover(layout)
    (block,) = [e for e in layout.elements if e.kind is ElementKind.CONTENTS]
    assert "Item 7" in layout.text[block.start : block.end]
    assert [layout.text[e.start : e.end] for e in layout.elements if e.kind is ElementKind.TITLE] == [
        "Item 1. Heading A"
    ]


def test_wrapped_lines_are_one_paragraph_and_unwrapped_lines_are_one_each() -> None:
    wrapped = "The Company sells its products through distributors and through\nits own shops in all of its markets.\n"
    (paragraph,) = read_text(wrapped.encode()).elements
    assert paragraph.kind is ElementKind.PARAGRAPH
    unwrapped = ("This is a long line of a transcript, spoken by one person. " * 5).strip()
    assert len(read_text(f"{unwrapped}\n{unwrapped}\n".encode()).elements) == 2


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("naïve – “quoted”".encode(), "naïve – “quoted”"),
        (b"\xef\xbb\xbfplain", "plain"),
        ("wide “text”".encode("utf-16"), "wide “text”"),
        ("wide text without a mark".encode("utf-16-le"), "wide text without a mark"),
        ("company’s “outlook” – fine".encode("cp1252"), "company’s “outlook” – fine"),
        ("第一季度的收入是在上年的基础上增长了，公司对这个行业的发展有信心。".encode("gb18030") * 3, None),
        ("第一季度的收入".encode(), "第一季度的收入"),
        (b"a\x00b\r\nc\rd", "ab\nc\nd"),
        ("companyâ€™s Ã©lan".encode(), "company’s élan"),
        ("company\u00e2\u0080\u0099s".encode(), "company’s"),
    ],
)
def test_text_is_decoded_by_what_it_is(content: bytes, text: str | None) -> None:
    assert decode(content) == (text or content.decode("gb18030"))


def test_empty_text_is_refused() -> None:
    with pytest.raises(UnreadableError) as caught:
        read_text(b" \n\n\f\n")
    assert caught.value.code == "text_empty"


def test_hostile_text_ends_in_time() -> None:
    started = time.monotonic()
    for content in (b"1 " * 200_000, b"." * 400_000, b"((((" * 60_000 + b"\n", b"<TABLE>" * 20_000, b"1  2\n" * 8_000):
        check_cover(read_text(b"Words.\n\n" + content))
    assert time.monotonic() - started < 12


HEADER = """-----BEGIN PRIVACY-ENHANCED MESSAGE-----
Proc-Type: 2001,MIC-CLEAR
Originator-Name: webmaster@www.sec.gov

<SEC-DOCUMENT>0000012345-98-000004.txt : 19980310
<SEC-HEADER>0000012345-98-000004.hdr.sgml : 19980310
ACCESSION NUMBER:		0000012345-98-000004
CONFORMED SUBMISSION TYPE:	10-K
CONFORMED PERIOD OF REPORT:	19971231
FILED AS OF DATE:		19980309

FILER:

	COMPANY DATA:
		COMPANY CONFORMED NAME:			EXAMPLE BEVERAGE CO
		CENTRAL INDEX KEY:			0000012345
		FISCAL YEAR END:			1231
	FORMER COMPANY:
		FORMER CONFORMED NAME:	OLD BEVERAGE CO
</SEC-HEADER>
"""


def document(kind: str, number: int, text: str) -> str:
    return (
        f"<DOCUMENT>\n<TYPE>{kind}\n<SEQUENCE>{number}\n<FILENAME>d{number}.txt\n<DESCRIPTION>{kind} of it\n"
        f"<TEXT>\n{text}\n</TEXT>\n</DOCUMENT>\n"
    )


SUBMISSION = HEADER + (
    document("10-K", 1, "Item 1. Business\n\nThe Company makes drinks.\n<PAGE>\nItem 8. See Exhibit 13.")
    + document("EX-10.1", 2, "A lease that nobody asks for.")
    + document("EX-13", 3, "ANNUAL REPORT\n\nIt was a good year for drinks." + STATEMENT)
    + document("GRAPHIC", 4, "begin 644 logo.gif\nM1TE&")
)


def test_the_sgml_header_becomes_metadata() -> None:
    submission = split_submission(SUBMISSION.encode())
    assert submission.metadata == {
        "accession": "0000012345-98-000004",
        "form": "10-K",
        "period_of_report": "1997-12-31",
        "filed": "1998-03-09",
        "company_name": "EXAMPLE BEVERAGE CO",
        "cik": "0000012345",
        "fiscal_year_end": "1231",
        "former_names": "OLD BEVERAGE CO",
    }
    assert [(d.type, d.filename) for d in submission.documents] == [
        ("10-K", "d1.txt"),
        ("EX-10.1", "d2.txt"),
        ("EX-13", "d3.txt"),
        ("GRAPHIC", "d4.txt"),
    ]


def test_the_annual_report_of_a_10k_is_joined_and_other_exhibits_are_left_out() -> None:
    layout = read_submission(SUBMISSION.encode())
    check_cover(layout)
    assert "The Company makes drinks." in layout.text and "It was a good year for drinks." in layout.text
    assert "lease" not in layout.text
    assert set(layout.flags) == {"left_out:EX-10.1", "joined:EX-13", "left_out:GRAPHIC"}
    assert [(name, layout.text[at:].split("\n")[0]) for name, at in layout.joined] == [("EX-13", "ANNUAL REPORT")]
    assert layout.metadata["company_name"] == "EXAMPLE BEVERAGE CO"
    revenue = next(row for row in layout.tables[0].rows if row.label == "Net sales")
    assert layout.text[revenue.cells[0].start : revenue.cells[0].end] == "$  1,945"


def test_a_cut_off_submission_is_read_as_far_as_it_goes() -> None:
    layout = read_submission(SUBMISSION[: SUBMISSION.index("</TEXT>")].encode())
    assert "See Exhibit 13." in layout.text


def test_a_submission_without_documents_is_refused() -> None:
    with pytest.raises(UnreadableError) as caught:
        read_submission(HEADER.encode())
    assert caught.value.code == "submission_empty"


@pytest.mark.parametrize(
    ("name", "label", "header", "value"),
    [
        ("sec/old/AAPL_10-Q_FY2000Q2_0000912057-00-023442.txt", "Total current assets", "September 25, 1999", "4285"),
        ("sec/KO_10-K_FY1997_0000021344-98-000004.txt", "TOTAL CURRENT ASSETS", "1997", "5969"),
    ],
)
def test_old_filings_give_their_figures(corpus: Path, name: str, label: str, header: str, value: str) -> None:
    layout = read_submission((corpus / name).read_bytes())
    check_cover(layout)
    assert value in {
        cell.value
        for table in layout.tables
        for row in table.rows
        if row.label == label
        for cell in row.cells
        if header in cell.header
    }
