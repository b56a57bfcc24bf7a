"""Kind and identity of documents, told by their content alone; and what is refused, with the reason."""

import io
import zipfile
from pathlib import Path

import pytest

from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.parsing.identity.identify import identify, refusal_reason
from finrag_pipelines.parsing.model import Fact, Kind, Layout, UnreadableError
from finrag_pipelines.parsing.parse import read_layout
from finrag_pipelines.parsing.readers.sniff import sniff


def text_layout(text: str, kind: Kind = Kind.TEXT, **more: object) -> Layout:
    return Layout(text=text, kind=kind, elements=(), **more)  # type: ignore[arg-type]


def cover(form: str, period: str, name: str, more: str = "") -> str:
    return (
        f"UNITED STATES\nSECURITIES AND EXCHANGE COMMISSION\nWashington, D.C. 20549\n\n{form}\n\n(Mark One)\n"
        f"[X] REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934\n\n{period}\n\n"
        f"Commission file number 001-99999\n\n{name}\n(Exact name of registrant as specified in its charter)\n\n"
        f"Delaware 99-9999999\n(State of incorporation) (I.R.S. Employer Identification No.)\n\n{more}"
    )


def dei(**values: str) -> tuple[Fact, ...]:
    return tuple(Fact(f"dei:{name}", value) for name, value in values.items())


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7\n...", Kind.PDF),
        (b"<!DOCTYPE html><html><body><p>x</p></body></html>", Kind.HTML),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><body/></html>", Kind.HTML),
        (b"<SEC-DOCUMENT>0000021344-98-000004.txt : 19980310\n<SEC-HEADER>", Kind.SUBMISSION),
        (b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----\nProc-Type: 2001", Kind.SUBMISSION),
        (b"<DOCUMENT>\n<TYPE>10-K405\n<TEXT>\nx", Kind.SUBMISSION),
        (zipped("[Content_Types].xml", "word/document.xml"), Kind.DOCX),
        (b"From: a@example.com\nTo: b@example.com\nSubject: margins\n\nHello", Kind.EMAIL),
        (b'{"speakers": [{"speaker": "A", "text": "Hello"}]}', Kind.JSON_TRANSCRIPT),
        (b'{"prepared_remarks": [{"speaker": "A", "speech": "Hello"}]}', Kind.JSON_TRANSCRIPT),
        (b"# Title\n\nText\n\n## More\n\nText", Kind.MARKDOWN),
        (b"Rows\n\n|   | a |\n|---:|:---|\n| 1 | 2 |\n", Kind.MARKDOWN),
        ("Plain text, ünïcode — and nothing else.".encode(), Kind.TEXT),
        ("\ufeffPlain text".encode("utf-16"), Kind.TEXT),
        (b"TO: all\nFROM: me\n\nA memo without addresses is text", Kind.TEXT),
    ],
)
def test_the_kind_is_decided_by_the_bytes(content: bytes, kind: Kind) -> None:
    assert sniff(content) is kind


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b" \n\t ", "empty_file"),
        (zipped("xl/workbook.xml"), "spreadsheet"),
        (zipped("a.pdf", "b.pdf"), "zip_archive"),
        (zipped("word/document.xml")[:40], "damaged_zip"),
        (b"\x89PNG\r\n\x1a\n....", "image"),
        (b"\xff\xd8\xff\xe0....", "image"),
        (b"PAR1....", "parquet"),
        (b"\x1f\x8b\x08....", "archive"),
        (b"\x00" * 257 + b"ustar" + b"\x00" * 300, "archive"),
        (bytes(range(1, 9)) * 400, "unknown_binary"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "legacy_office"),
        (b'{"cik": "0000021344", "filings": {"recent": []}}', "json_no_transcript"),
        (b'{"speakers": [{"speaker": "A", "te', "damaged_json"),
        (b"[" * 100_000, "json_no_transcript"),
        (b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>", "http_error_page"),
        (b"<?xml version='1.0'?><feed><entry/></feed>", "xml_no_document"),
    ],
)
def test_what_is_no_document_is_named(content: bytes, code: str) -> None:
    with pytest.raises(UnreadableError) as raised:
        sniff(content)
    assert raised.value.code == code
    assert str(raised.value)


def test_a_cover_tells_form_company_period_and_end() -> None:
    text = cover("FORM 10-Q", "For the quarterly period ended June 30, 2024", "Mondelēz International, Inc.")
    identity = identify(text_layout(text), "MDLZ_10-Q_2024Q2.md")
    assert (identity.company, identity.form, identity.period, identity.period_end) == (
        "MDLZ",
        "10-Q",
        "2024Q2",
        "2024-06-30",
    )
    assert identity.warnings == ()
    assert {f.basis for f in identity.findings if f.name == "form"} == {"cover"}
    assert "filed" in identity.unknown
    assert "accession" in identity.unknown


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("FORM 10-K", "10-K"),
        ("Form 10-K/A", "10-K/A"),
        ("FORM 10-K\n(Amendment No. 2)", "10-K/A"),
        ("FORM\n10-K", "10-K"),
        ("FORM 10-K405", "10-K405"),
        ("FORM 10-KSB", "10-KSB"),
        ("FORM 20-F", "20-F"),
    ],
)
def test_the_form_is_read_with_its_amendment(form: str, said: str) -> None:
    text = cover(form, "For the fiscal year ended December 31, 2021", "ACME ROCKETS, INC.")
    identity = identify(text_layout(text))
    assert (identity.form, identity.period, identity.company) == (said, "FY2021", "acme-rockets")


def test_tagged_facts_count_before_the_cover_but_an_amended_cover_is_believed() -> None:
    facts = dei(
        DocumentType="10-K",
        AmendmentFlag="false",
        EntityRegistrantName="ACME ROCKETS INC",
        EntityCentralIndexKey="0009999999",
        TradingSymbol="ACMR",
        DocumentPeriodEndDate="September 30, 2023",
        DocumentFiscalYearFocus="2023",
        DocumentFiscalPeriodFocus="FY",
        CurrentFiscalYearEndDate="--09-30",
    )
    text = cover("FORM 10-K\n(Amendment No. 1)", "For the fiscal year ended September 30, 2023", "ACME ROCKETS, INC.")
    identity = identify(text_layout(text, Kind.HTML, facts=facts))
    assert (identity.company, identity.cik, identity.period) == ("ACMR", "0009999999", "FY2023")
    assert identity.form == "10-K/A"
    assert any("the cover counts" in warning for warning in identity.warnings)


def test_a_wrong_dei_focus_is_overruled_for_an_issuer_whose_calendar_is_known() -> None:
    facts = dei(
        DocumentType="10-Q",
        EntityCentralIndexKey="0000077476",
        DocumentPeriodEndDate="September 9, 2023",
        DocumentFiscalYearFocus="2023",
        DocumentFiscalPeriodFocus="Q2",
    )
    identity = identify(text_layout("Form 10-Q of PepsiCo, Inc.", Kind.HTML, facts=facts))
    assert identity.period == "2023Q3"
    assert any("focus says 2023Q2" in warning for warning in identity.warnings)


@pytest.mark.parametrize(
    ("focus", "label"),
    [("2022", "2022Q3"), ("2023", "2023Q3")],
)
def test_an_unknown_issuer_is_labelled_as_its_own_focus_says(focus: str, label: str) -> None:
    facts = dei(
        DocumentType="10-Q",
        EntityRegistrantName="ACME STORES INC",
        EntityCentralIndexKey="0009999998",
        DocumentPeriodEndDate="October 29, 2022",
        DocumentFiscalYearFocus=focus,
        DocumentFiscalPeriodFocus="Q3",
        CurrentFiscalYearEndDate="--01-28",
    )
    assert identify(text_layout("Stores.", Kind.HTML, facts=facts)).period == label


@pytest.mark.parametrize(
    ("end", "statement", "label"),
    [
        ("July 1, 2023", "Nine Months Ended July 1, 2023", "2023Q3"),
        ("July 1, 2023", "Six Months Ended July 1, 2023", "2023Q2"),
        (
            "October 29, 2022",
            "Thirty-nine weeks ended October 29, 2022. Sales of fiscal 2022 rose; fiscal 2022",
            "2022Q3",
        ),
        ("October 29, 2022", "39 weeks ended October 29, 2022. Sales of fiscal 2023 rose; fiscal 2023", "2023Q3"),
        ("September 9, 2023", "36 Weeks Ended September 9, 2023", "2023Q3"),
        ("March 31, 2024", "Three Months Ended March 31, 2024", "2024Q1"),
    ],
)
def test_the_quarter_of_an_unknown_issuer_follows_from_its_year_to_date(end: str, statement: str, label: str) -> None:
    text = cover("FORM 10-Q", f"For the quarterly period ended {end}", "ACME STORES, INC.", statement)
    assert identify(text_layout(text)).period == label


def test_a_name_that_the_cover_shows_only_as_a_picture_is_found_in_the_body() -> None:
    text = cover("FORM 10-Q", "For the quarterly period ended October 29, 2022", "").replace("\n\n\n", "\n")
    body = 'In this report "we" and "us" refer to Foot Locker, Inc. and its consolidated subsidiaries.'
    identity = identify(text_layout(text + body), "FOOTLOCKER_2023Q3_10Q.pdf")
    assert (identity.company, identity.period) == ("FL", "2022Q3")
    assert any("2023Q3" in warning and "counted by its end" in warning for warning in identity.warnings)


def test_the_header_of_a_submission_gives_filed_date_and_accession() -> None:
    metadata = {
        "CONFORMED SUBMISSION TYPE": "10-K",
        "COMPANY CONFORMED NAME": "GENERAL ELECTRIC CO",
        "CENTRAL INDEX KEY": "0000040545",
        "CONFORMED PERIOD OF REPORT": "19931231",
        "FILED AS OF DATE": "19940311",
        "ACCESSION NUMBER": "0000040545-94-000003",
        "FISCAL YEAR END": "1231",
    }
    identity = identify(text_layout("Annual report.", Kind.SUBMISSION, metadata=metadata))
    assert identity.company == "GE"
    assert (identity.form, identity.period, identity.period_end) == ("10-K", "FY1993", "1993-12-31")
    assert (identity.filed, identity.accession) == ("1994-03-11", "0000040545-94-000003")


@pytest.mark.parametrize(
    ("opening", "company", "period", "end", "called"),
    [
        (
            "The Coca-Cola Co. (NYSE:KO) Q4 2031 Earnings Call February 13, 2032 8:00 AM ET\nExecutives\nAda Example",
            "KO",
            "2031Q4",
            "2031-12-31",
            "2032-02-13",
        ),
        (
            "Coca-Cola First Quarter 2026 Earnings Call, April 28, 2026\n\nOperator\nThis call is being recorded.",
            "KO",
            "2026Q1",
            "2026-03-31",
            "2026-04-28",
        ),
        (
            "Welcome to PepsiCo's 2025 second quarter earnings question and answer session, in listen only mode.",
            "PEP",
            "2025Q2",
            "2025-06-14",
            None,
        ),
        (
            "Acme Limited\nQ2 FY25 Earnings Conference Call\nDecember 03, 2024\nModerator: Ladies and gentlemen",
            "acme",
            "2025Q2",
            "2024-09-30",
            "2024-12-03",
        ),
        (
            "Q4 2031 JPMorgan Chase & Co Earnings Call - Final\n13 January 2032\nOPERATOR: Ladies and gentlemen.",
            "JPM",
            "2031Q4",
            "2031-12-31",
            "2032-01-13",
        ),
        (
            "Welcome to the Progressive first quarter earnings call. This call is being recorded. See our Form 10-Q "
            "for the first, second, and third quarters of 2024.",
            "PGR",
            "2024Q3",
            "2024-09-30",
            None,
        ),
    ],
)
def test_a_call_is_known_by_its_opening(opening: str, company: str, period: str, end: str, called: str | None) -> None:
    identity = identify(text_layout(opening))
    assert identity.form == "transcript"
    assert (identity.company, identity.period, identity.period_end) == (company, period, end)
    assert identity.event_dates == ((called,) if called else ())


def test_a_call_that_contradicts_its_opening_is_told_so() -> None:
    text = (
        "Welcome to the Progressive first quarter earnings call. The call is being recorded. See our Form 10-Q for the "
        "first, second, and third quarters of 2024."
    )
    assert any("the opening says quarter 1" in warning for warning in identify(text_layout(text)).warnings)


def test_a_call_without_a_year_is_explicitly_unknown() -> None:
    text = "Welcome to The Coca-Cola Company's third-quarter earnings results conference call. [Operator instructions]"
    identity = identify(text_layout(text))
    assert identity.period is None
    assert "period" in identity.unknown
    refused = refusal_reason(identity, text_layout(text))
    assert refused is not None
    assert refused[0] == "period_unknown"


@pytest.mark.parametrize(
    ("text", "company", "form", "period"),
    [
        (
            "Exhibit 99.1\nFor Immediate Release: November 21, 2031\nACME STORES REPORTS THIRD QUARTER NET INCOME\n"
            "Acme Stores, Inc. (NYSE: ACMS) said that net income for the quarter ended November 1, 2031 rose.",
            "ACMS",
            "8-K EX-99.1",
            "2031Q3",
        ),
        (
            "PepsiCo Reports Q4 and Full-Year 2031 Results\nAUSTIN - February 9, 2032 - PepsiCo, Inc. (NASDAQ: PEP)",
            "PEP",
            "press_release",
            "2031Q4",
        ),
        (
            "ACME HOLDING, INC./NEWS\nACME DECLARES SPECIAL DIVIDEND OF $3.00 PER SHARE\n"
            "Acme Holding, Inc. (NASDAQ-ACMH) Austin, Texas; December 4, 2031",
            "ACMH",
            "press_release",
            None,
        ),
    ],
)
def test_a_press_release_is_known_by_its_headline(text: str, company: str, form: str, period: str | None) -> None:
    identity = identify(text_layout(text))
    assert (identity.company, identity.form, identity.period) == (company, form, period)
    assert refusal_reason(identity, text_layout(text)) is None


def test_fund_notices_are_known_in_english_and_chinese() -> None:
    chinese = "某某基金管理有限公司关于旗下部分基金的公告\n正文。\n某某基金管理有限公司\n二〇一六年六月二十九日"
    identity = identify(text_layout(chinese))
    assert (identity.form, identity.filed, identity.company) == (
        "fund_announcement",
        "2016-06-29",
        "某某基金管理有限公司",
    )
    english = "HARBOR DIVIDEND FUND\nAnnouncement to Shareholders\nMarch 18, 2022\nFrom April 1, 2022 it pays monthly."
    identity = identify(text_layout(english))
    assert (identity.form, identity.filed, identity.company) == (
        "fund_announcement",
        "2022-03-18",
        "harbor-dividend-fund",
    )


def test_a_memo_gives_author_date_and_subjects_in_their_order() -> None:
    text = (
        "Investment Research Memorandum\nAuthor: Nadia Example\nDate: May 6, 2026\n"
        "Subjects: PepsiCo, Inc. (PEP); Mondelez International, Inc. (MDLZ)\n\nMondelez, Mondelez and PepsiCo."
    )
    identity = identify(text_layout(text))
    assert (identity.form, identity.author, identity.filed) == ("memo", "Nadia Example", "2026-05-06")
    assert identity.subjects == ("PEP", "MDLZ")
    assert identity.company == "PEP"


def test_an_8_k_tells_the_date_of_its_event() -> None:
    text = cover(
        "FORM 8-K", "Date of report (Date of earliest event reported): May 20, 2022 (May 18, 2022)", "Foot Locker, Inc."
    )
    identity = identify(text_layout(text))
    assert (identity.company, identity.form, identity.period, identity.event_dates) == (
        "FL",
        "8-K",
        None,
        ("2022-05-18",),
    )
    assert refusal_reason(identity, text_layout(text)) is None


def test_a_file_name_only_warns() -> None:
    text = (
        "SEC FORM 4\nSTATEMENT OF CHANGES IN BENEFICIAL OWNERSHIP\n"
        "2. Issuer Name and Ticker or Trading Symbol COCA COLA CO [ KO ]"
    )
    layout = text_layout(text)
    identity = identify(layout, "KO_10-Q.md")
    assert (identity.form, identity.company) == ("4", "KO")
    assert any("Form 4" in warning for warning in identity.warnings)
    refused = refusal_reason(identity, layout)
    assert refused is not None
    assert refused[0] == "form_not_supported"

    text = cover("FORM 10-Q", "For the quarterly period ended September 9, 2023", "PepsiCo, Inc.")
    identity = identify(text_layout(text), "KO_10-K_FY2022.htm")
    assert (identity.company, identity.period) == ("PEP", "2023Q3")
    assert len(identity.warnings) == 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("404 Not Found\nnginx", "http_error_page"),
        ("Your Request Originates from an Undeclared Automated Tool", "http_error_page"),
        ("SEC.gov | Request Rate Threshold Exceeded", "http_error_page"),
        ("This page is temporarily unavailable.", "http_error_page"),
        ("Lorem ipsum dolor sit amet.", "company_unknown"),
        (
            cover("FORM 10-K", "For the fiscal year ended December 31, 2021", "").replace("(Exact", "(Wrong"),
            "company_unknown",
        ),
        (cover("FORM 10-K", "For the fiscal year", "ACME ROCKETS, INC."), "period_unknown"),
    ],
)
def test_what_cannot_be_identified_is_refused_with_the_reason(text: str, code: str) -> None:
    layout = text_layout(text)
    refused = refusal_reason(identify(layout), layout)
    assert refused is not None
    assert refused[0] == code
    assert len(refused[1]) > 20


def test_a_long_filing_that_mentions_an_error_is_no_error_page() -> None:
    text = (
        cover("FORM 10-K", "For the fiscal year ended December 31, 2021", "ACME ROCKETS, INC.")
        + "A page was not found. 404 error."
    )
    assert refusal_reason(identify(text_layout(text)), text_layout(text)) is None


def test_hostile_text_is_identified_in_bounded_time() -> None:
    import time

    for piece in (
        "(Exact name of ",
        "FORM 10-",
        "welcome to ",
        "A.",
        "SECURITIES AND EXCHANGE COMMISSION ",
        "Fund ",
        "From: ",
        "# ",
    ):
        started = time.perf_counter()
        identify(text_layout(piece * (2_000_000 // len(piece))))
        assert time.perf_counter() - started < 3, piece


def test_identity_is_the_same_every_time(sample: Path) -> None:
    if not sample.is_dir():
        pytest.skip(f"no sample corpus at {sample}")
    content = next(iter(sorted(sample.glob("*10-Q*.htm")))).read_bytes()
    assert identify(read_layout(content)) == identify(read_layout(content))


EXPECTED = """
sec/KO_10-K_FY2024_filed-2025-02-20.htm|KO|10-K|FY2024|2024-12-31
sec/KO_10-K_FY2023_0000021344-24-000009.htm|KO|10-K|FY2023|2023-12-31
sec/KO_10-Q_2023Q2_0000021344-23-000048.htm|KO|10-Q|2023Q2|2023-06-30
sec/KO_10-Q_2025Q2.htm|KO|10-Q|2025Q2|2025-06-27
sec/KO_10-K_FY1997_0000021344-98-000004.txt|KO|10-K|FY1997|1997-12-31
sec/KO_10-Q_MISLABELED_is_Form4_2024-07-26.md|KO|4||
sec/PEP_10-K_FY2023_0000077476-24-000008.htm|PEP|10-K|FY2023|2023-12-30
sec/PEP_10-Q_2023Q3_0000077476-23-000058.htm|PEP|10-Q|2023Q3|2023-09-09
sec/MDLZ_10-Q_2024Q2.md|MDLZ|10-Q|2024Q2|2024-06-30
sec/UNH_10-K_FY2024.htm|UNH|10-K|FY2024|2024-12-31
sec/UNH_10-K_FY2024.md|UNH|10-K|FY2024|2024-12-31
sec/UNH_10-Q_2023Q2_0000731766-23-000053.htm|UNH|10-Q|2023Q2|2023-06-30
sec/TRV_10-Q_2023Q3_0000086312-23-000063.htm|TRV|10-Q|2023Q3|2023-09-30
sec/AAPL_10-Q_2023Q3_0000320193-23-000077.htm|AAPL|10-Q|2023Q3|2023-07-01
sec/NVDA_10-K_FY2024_0001045810-24-000029.htm|NVDA|10-K|FY2024|2024-01-28
sec/NVDA_10-K_FY2024.pdf|NVDA|10-K|FY2024|2024-01-28
sec/NVDA_10-K_FY2024.md|NVDA|10-K|FY2024|2024-01-28
sec/GE_10-K_FY2023_0000040545-24-000027.htm|GE|10-K|FY2023|2023-12-31
sec/DERIVED_10-K_SANDSTON_FY2021_original.htm|SDON|10-K|FY2021|2021-12-31
sec/DERIVED_10-K-A_SANDSTON_FY2021_amended-cover.htm|SDON|10-K/A|FY2021|2021-12-31
sec/20-F_LONCOR_FY2015_0001062993-16-008650.htm|loncor-resources|20-F|FY2015|2015-12-31
sec/6-K_ALCON_2023-02-13.htm|ALC|6-K||
sec/8-K_ADOBE_2023-03-15_full.txt|ADBE|8-K||
sec/8-K_BUCKLE_EX-99.1.htm|BKE|8-K EX-99.1|2024Q3|2024-11-02
sec/8-K_BUCKLE_cover.htm|BKE|8-K||
sec/8-K_item402_nonreliance_0001213900-25-032135.txt|ABVC|8-K||
sec/10-K_ABS_CARMAX_AUTO_OWNER_TRUST_2019-3_FY2023.txt|CIK0001779026|10-K|FY2023|2023-02-28
sec/424B5_CARMAX_2010_0001193125-10-145855.nc|CIK0001259380|424B5||
sec/S-3A_1995_0000899681-95-000096.txt|page-america-group|S-3/A||
sec/UPLOAD_AAPL_SEC_comment_letter.txt|AAPL|UPLOAD||
sec/zh_CATL_annual_report_2024.pdf|宁德时代新能源科技股份有限公司|annual_report|FY2024|2024-12-31
sec/old/0000950153-99-001234_10-K_FY1999.htm|medicis-pharmaceutical|10-K|FY1999|1999-06-30
sec/old/24HOLDINGS_10-KSB_FY2007.txt|CIK0001025315|10-KSB|FY2007|2007-12-31
sec/old/AAPL_10-Q_FY2000Q2_0000912057-00-023442.txt|AAPL|10-Q|2000Q2|2000-04-01
sec/old/GE_10-K_FY1993_0000040545-94-000003.txt|GE|10-K|FY1993|1993-12-31
sec/old/INTC_10-K_FY2002.htm|INTC|10-K|FY2002|2002-12-28
sec/old/TEXTRON_10-K405_FY2001.txt|TXT|10-K405|FY2001|2001-12-29
sec/old/TGT_10-K_FY2002.htm|TGT|10-K|FY2002|2003-02-01
sec/revisions/PATI_10-K_FY2017.pdf|PATI|10-K|FY2017|2017-09-30
sec/revisions/PATI_AR_FY2017.pdf|PATI|annual_report|FY2017|2017-09-30
sec/revisions/PATI_1Q2016_press_release_v8_FINAL.pdf|PATI|press_release|2016Q1|2015-12-31
sec/revisions/PATI_1Q2016_press_release_revised_legal_fees.pdf|PATI|press_release|2016Q1|2015-12-31
sec/revisions/PATI_special_dividend.pdf|PATI|press_release||
sec/revisions/PATI_special_dividend_update.pdf|PATI|press_release||
amendments/S-3_VINCERX_0001193125-25-012209.txt|CIK0001796129|S-3||
amendments/S-3A_VINCERX_0001193125-25-068723.txt|CIK0001796129|S-3/A||
amendments/POSAM_VINCERX_0001193125-25-110092.txt|CIK0001796129|POS AM||
edgar_corpus/1000685_8K_1997_0001000685-97-000006.txt|CIK0001000685|8-K||
edgar_corpus/1000180_8K_2010_0001000180-10-000081.htm|sandisk|8-K||
funds/485BPOS_DELAWARE_2023.htm|CIK0000027574|485BPOS||
funds/497K_GMO_TRUST_0001193125-25-152548.txt|CIK0000772129|497K||
funds/N-CEN_AB_CAP_FUND_2025.txt|CIK0000081443|N-CEN||
funds/zh_BOCOM_SCHRODER_2016-06-29_announcement_excerpt.html|交银施罗德基金管理有限公司|fund_announcement||
transcripts/api_json/AAPL_2023Q1_speakers.json|AAPL|transcript|2023Q1|2022-12-31
transcripts/asr/KO_2025Q1.txt|KO|transcript|2025Q1|2025-03-31
transcripts/asr/MDLZ_2025Q2.txt|MDLZ|transcript|2025Q2|2025-06-30
transcripts/asr/PEP_2025Q2.txt|PEP|transcript|2025Q2|2025-06-14
transcripts/asr/PGR_2024Q3.txt|PGR|transcript|2024Q3|2024-09-30
transcripts/asr/UNH_2025Q2.txt|UNH|transcript|2025Q2|2025-06-30
transcripts/ectsum/KO_2021Q3.txt|KO|transcript|2021Q3|2021-09-30
transcripts/factiva/JPM_2019Q4.txt|JPM|transcript|2019Q4|2019-12-31
transcripts/motleyfool_json/AIG_2021Q1.json|AIG|transcript|2021Q1|2021-03-31
transcripts/motleyfool_json/HUM_2021Q2.json|HUM|transcript|2021Q2|2021-06-30
transcripts/motleyfool_json/KO_2021Q3.json|KO|transcript|2021Q3|2021-09-30
transcripts/pdf/DLR_2024Q1_SPCapIQ.pdf|DLR|transcript|2024Q1|2024-03-31
transcripts/pdf/SWIGGY_FY25Q2.pdf|swiggy|transcript|2025Q2|2024-09-30
transcripts/seekingalpha/KO_2017Q4.txt|KO|transcript|2017Q4|2017-12-31
transcripts/seekingalpha/KO_2021Q3.txt|KO|transcript|2021Q3|2021-09-30
transcripts/seekingalpha/MDLZ_2022Q2.txt|MDLZ|transcript|2022Q2|2022-06-30
transcripts/seekingalpha/PEP_2020Q2_QA.txt|PEP|transcript|2020Q2|2020-06-13
transcripts/seekingalpha/PEP_2020Q2_management_discussion.txt|PEP|transcript|2020Q2|2020-06-13
transcripts/seekingalpha/PEP_2022Q2.txt|PEP|transcript|2022Q2|2022-06-11
transcripts/seekingalpha/PGR_2022Q1.txt|PGR|transcript|2022Q1|2022-03-31
transcripts/seekingalpha/UNH_2012Q4.txt|UNH|transcript|2012Q4|2012-12-31
transcripts/zh/MEDIATEK_2454_2026Q2.txt|聯發科|transcript|2025Q4|2025-12-31
financebench/pdfs/AMD_2015_10K.pdf|AMD|10-K|FY2015|2015-12-26
financebench/pdfs/AMERICANWATERWORKS_2020_10K.pdf|AWK|10-K|FY2020|2020-12-31
financebench/pdfs/AMERICANWATERWORKS_2021_10K.pdf|AWK|10-K|FY2021|2021-12-31
financebench/pdfs/AMERICANWATERWORKS_2022_10K.pdf|AWK|10-K|FY2022|2022-12-31
financebench/pdfs/APPLE_2023Q3_10Q.pdf|AAPL|10-Q|2023Q3|2023-07-01
financebench/pdfs/BLOCK_2016_10K.pdf|XYZ|10-K|FY2016|2016-12-31
financebench/pdfs/BLOCK_2020_10K.pdf|XYZ|10-K|FY2020|2020-12-31
financebench/pdfs/COCACOLA_2017_10K.pdf|KO|10-K|FY2017|2017-12-31
financebench/pdfs/COCACOLA_2019_10K.pdf|KO|10-K|FY2019|2019-12-31
financebench/pdfs/COCACOLA_2020_10K.pdf|KO|10-K|FY2020|2020-12-31
financebench/pdfs/COSTCO_2021_10K.pdf|COST|10-K|FY2021|2021-08-29
financebench/pdfs/CVSHEALTH_2018_10K.pdf|CVS|10-K|FY2018|2018-12-31
financebench/pdfs/CVSHEALTH_2022_10K.pdf|CVS|10-K|FY2022|2022-12-31
financebench/pdfs/FOOTLOCKER_2022_10Q.pdf|FL|10-Q|2022Q3|2022-10-29
financebench/pdfs/FOOTLOCKER_2023Q3_10Q.pdf|FL|10-Q|2022Q3|2022-10-29
financebench/pdfs/FOOTLOCKER_2022_8K_dated-2022-05-20.pdf|FL|8-K||
financebench/pdfs/FOOTLOCKER_2022_8K_dated_2022-08-19.pdf|FL|8-K||
financebench/pdfs/GENERALMILLS_2019_10K.pdf|GIS|10-K|FY2019|2019-05-26
financebench/pdfs/GENERALMILLS_2020_10K.pdf|GIS|10-K|FY2020|2020-05-31
financebench/pdfs/GENERALMILLS_2022_10K.pdf|GIS|10-K|FY2022|2022-05-29
financebench/pdfs/KRAFTHEINZ_2019_10K.pdf|KHC|10-K|FY2019|2019-12-28
financebench/pdfs/LOCKHEEDMARTIN_2020_10K.pdf|LMT|10-K|FY2020|2020-12-31
financebench/pdfs/LOCKHEEDMARTIN_2021_10K.pdf|LMT|10-K|FY2021|2021-12-31
financebench/pdfs/LOCKHEEDMARTIN_2022_10K.pdf|LMT|10-K|FY2022|2022-12-31
financebench/pdfs/MGMRESORTS_2018_10K.pdf|MGM|10-K|FY2018|2018-12-31
financebench/pdfs/MGMRESORTS_2020_10K.pdf|MGM|10-K|FY2020|2020-12-31
financebench/pdfs/MGMRESORTS_2022_10K.pdf|MGM|10-K|FY2022|2022-12-31
financebench/pdfs/MGMRESORTS_2022Q4_EARNINGS.pdf|MGM|8-K EX-99.1|2022Q4|2022-12-31
financebench/pdfs/MGMRESORTS_2023Q2_10Q.pdf|MGM|10-Q|2023Q2|2023-06-30
financebench/pdfs/MICROSOFT_2016_10K.pdf|MSFT|10-K|FY2016|2016-06-30
financebench/pdfs/MICROSOFT_2023_10K.pdf|MSFT|10-K|FY2023|2023-06-30
financebench/pdfs/NETFLIX_2015_10K.pdf|NFLX|10-K|FY2015|2015-12-31
financebench/pdfs/NETFLIX_2017_10K.pdf|NFLX|10-K|FY2017|2017-12-31
financebench/pdfs/NIKE_2018_10K.pdf|NKE|10-K|FY2018|2018-05-31
financebench/pdfs/NIKE_2019_10K.pdf|NKE|10-K|FY2019|2019-05-31
financebench/pdfs/NIKE_2021_10K.pdf|NKE|10-K|FY2021|2021-05-31
financebench/pdfs/NIKE_2023_10K.pdf|NKE|10-K|FY2023|2023-05-31
financebench/pdfs/PEPSICO_2021_10K.pdf|PEP|10-K|FY2021|2021-12-25
financebench/pdfs/PEPSICO_2022_10K.pdf|PEP|10-K|FY2022|2022-12-31
financebench/pdfs/PEPSICO_2022Q4_EARNINGS.pdf|PEP|press_release|2022Q4|2022-12-31
financebench/pdfs/PEPSICO_2023Q1_EARNINGS.pdf|PEP|press_release|2023Q1|2023-03-25
financebench/pdfs/PEPSICO_2023_8K_dated-2023-05-05.pdf|PEP|8-K||
financebench/pdfs/PEPSICO_2023_8K_dated-2023-05-30.pdf|PEP|8-K||
financebench/pdfs/WALMART_2018_10K.pdf|WMT|10-K|FY2018|2018-01-31
financebench/pdfs/WALMART_2020_10K.pdf|WMT|10-K|FY2020|2020-01-31
"""


@pytest.mark.slow
@pytest.mark.parametrize("row", EXPECTED.split("\n")[1:-1], ids=lambda row: row.split("|")[0])
def test_real_documents_are_identified(corpus: Path, row: str) -> None:
    name, *expected = row.split("|")
    layout = read_layout((corpus / name).read_bytes())
    identity = identify(layout, name)
    assert [identity.company, identity.form, identity.period or "", identity.period_end or ""] == expected, identity
    refused = refusal_reason(identity, layout)
    assert (refused and refused[0]) == ("form_not_supported" if identity.form == "4" else None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("edgar_api/SEC.AutomatedTool.html", "http_error_page"),
        ("edgar_api/rate-exceeded.html", "http_error_page"),
        ("edgar_api/cik_not_found.html", "http_error_page"),
        ("edgar_api/getcurrent_start5100_503.html", "http_error_page"),
        ("sec/ge_10k_cross_reference_sample.html", "company_unknown"),
    ],
)
def test_real_pages_that_are_no_documents_are_refused(corpus: Path, name: str, code: str) -> None:
    layout = read_layout((corpus / name).read_bytes())
    refused = refusal_reason(identify(layout, name), layout)
    assert refused is not None
    assert refused[0] == code


def test_the_empty_identity_is_refused_as_unknown() -> None:
    refused = refusal_reason(Identity(), text_layout("words"))
    assert refused is not None
    assert refused[0] == "company_unknown"
