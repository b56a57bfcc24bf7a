"""Sections: items found by their headings and order, on small texts of many shapes and on labelled real filings."""

import hashlib
import json
import shutil
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from finrag_pipelines.parsing.model import Element, ElementKind, Heading, Kind, Layout, Page, Section
from finrag_pipelines.parsing.sections.find import find_sections
from finrag_pipelines.parsing.sections.item_numbers import canonical_number
from finrag_pipelines.parsing.sections.pointers import find_pointer

LABELS = Path(__file__).with_name("section_labels.json")
BODY = "Plain sentences say what there is to say about this matter, at some length and without any number.\n" * 12
TITLES_10K = {
    "1": "Business",
    "1A": "Risk Factors",
    "1B": "Unresolved Staff Comments",
    "2": "Properties",
    "3": "Legal Proceedings",
    "4": "Mine Safety Disclosures",
    "5": "Market for Registrant's Common Equity, Related Stockholder Matters and Issuer Purchases of Equity Securities",
    "7": "Management's Discussion and Analysis of Financial Condition and Results of Operations",
    "7A": "Quantitative and Qualitative Disclosures About Market Risk",
    "8": "Financial Statements and Supplementary Data",
    "9": "Changes in and Disagreements with Accountants on Accounting and Financial Disclosure",
    "9A": "Controls and Procedures",
    "10": "Directors, Executive Officers and Corporate Governance",
    "11": "Executive Compensation",
    "12": "Security Ownership of Certain Beneficial Owners and Management and Related Stockholder Matters",
    "13": "Certain Relationships and Related Transactions, and Director Independence",
    "14": "Principal Accountant Fees and Services",
    "15": "Exhibits and Financial Statement Schedules",
}
SIGNED = "SIGNATURES\nPursuant to the requirements of Section 13 of the Securities Exchange Act of 1934, signed.\n"


def layout(text: str, titles: tuple[str, ...] = (), headers: tuple[str, ...] = ()) -> Layout:
    """A layout with one element for each line; the lines in `titles` and `headers` get those kinds."""
    elements, start = [], 0
    for line in text.split("\n"):
        kind = ElementKind.PARAGRAPH
        if line in titles:
            kind = ElementKind.TITLE
        if line in headers:
            kind = ElementKind.HEADER
        if line.strip():
            elements.append(Element(kind, start, start + len(line)))
        start += len(line) + 1
    return Layout(text, Kind.TEXT, tuple(elements))


def annual_report(heading: Callable[[str, str], str] = "Item {}. {}\n".format, contents: bool = True) -> str:
    """A 10-K with every item, each heading made by `heading(number, title)`, and a contents list with page numbers."""
    listed = "".join(f"Item {n}. {title} {page}\n" for page, (n, title) in enumerate(TITLES_10K.items(), 3))
    cover = "FORM 10-K\nANNUAL REPORT\nSample Corporation\n" + (f"TABLE OF CONTENTS\n{listed}\n" if contents else "\n")
    return cover + "".join(heading(n, title) + BODY for n, title in TITLES_10K.items()) + SIGNED


def found(text: str | Layout, form: str) -> tuple[dict[str, Section], tuple[Heading, ...]]:
    source = layout(text) if isinstance(text, str) else text
    sections, headings = find_sections(source, form)
    covered = [s for s in sections if s.end > s.start]
    assert [s.start for s in covered[1:]] == [s.end for s in covered[:-1]]
    assert not covered or (covered[0].start, covered[-1].end) == (0, len(source.text))
    return {s.key: s for s in sections}, headings


@pytest.mark.parametrize(
    "heading",
    [
        "Item {}. {}\n".format,
        "ITEM {}: {}\n".format,
        "item {} - {}\n".format,
        "Item No. {} {}\n".format,
        "Item {}.\n{}\n".format,
        "Item {}.\t{}\n".format,
        "## Item {}. {}\n".format,
        "**ITEM {}.** {}\n".format,
        "        ITEM  {}.    {}\n".format,
        "I TEM {}. {}\n".format,
        "Item\n{}.\n{}\n".format,
        "Item {}—{}. Here the text of the item begins on the line of its heading and goes on.\n".format,
        lambda n, title: f"Item {n}. {title}\n".upper(),
        lambda n, title: f"Item {n}.{title}\n",
        lambda n, title: f"Item {n[0]}({n[1]}). {title}\n" if n[-1].isalpha() else f"Item {n}. {title}\n",
    ],
)
def test_every_item_is_found_at_its_heading_whatever_the_heading_looks_like(
    heading: Callable[[str, str], str],
) -> None:
    text = annual_report(heading)
    sections, _ = found(text, "10-K")
    assert list(sections) == ["Cover", *(f"Item {n}" for n in TITLES_10K), "Signatures"]
    position = text.index("\n\n") if "\n\n" in text else 0
    for number, title in TITLES_10K.items():
        expected = text.index(heading(number, title), position)
        assert text[expected : sections[f"Item {number}"].start].strip(" #*") == ""
        position = expected


def test_a_contents_list_gives_no_section_even_where_it_comes_after_the_items() -> None:
    text = annual_report(contents=False)
    index = "INDEX\n" + "".join(f"Item {n}. {t} ..... {page}\n" for page, (n, t) in enumerate(TITLES_10K.items(), 1))
    for document in (text.replace(SIGNED, index + SIGNED), annual_report()):
        sections, headings = found(document, "10-K")
        assert all(BODY[:40] in document[s.start : s.end] for k, s in sections.items() if k.startswith("Item"))
        rejected = [h for h in headings if not h.accepted and "contents list" in h.reason]
        assert len(rejected) == len(TITLES_10K)


def test_a_list_without_page_numbers_is_a_contents_list_where_the_items_come_again() -> None:
    listed = "".join(f"Item {n}. {title}\n" for n, title in TITLES_10K.items())
    text = annual_report(contents=False)
    sections, _ = found(listed + text, "10-K")
    assert sections["Item 1"].start > len(listed)
    assert sections["Cover"].end == sections["Item 1"].start


@pytest.mark.parametrize(
    "mention",
    [
        "We describe these matters in\nItem 1A. Risk Factors of this report, and the reader should turn there.\n",
        "The risks are set forth under the caption\n“Item 7. Management's Discussion and Analysis of Financial "
        "Condition and Results of Operations” below.\n",
        "See the discussion in Part II,\nItem 8 of this report for the amounts.\n",
        "Further facts are in Note 4 and\nItem 3, Legal Proceedings, of the report for last year.\n",
    ],
)
def test_a_mention_at_the_start_of_a_wrapped_line_ends_no_item(mention: str) -> None:
    text = annual_report().replace("Item 2. Properties\n", mention + "Item 2. Properties\n", 2)
    place = text.rindex(mention)
    sections, headings = found(text, "10-K")
    assert sections["Item 1B"].start < place < sections["Item 2"].start
    assert sections["Item 1B"].end == sections["Item 2"].start
    start = place + mention.index("tem ") - 1
    assert any(h.start in (start, start - 1) and not h.accepted and "inline" in h.reason + "inline" for h in headings)


def test_a_list_of_items_in_a_cautionary_note_opens_none_of_them() -> None:
    note = "Forward-looking statements stand in\n• Item 1. Business;\n• Item 1A. Risk Factors; and\n• Item 3. Legal "
    note += "Proceedings.\n"
    text = annual_report().replace("Item 1. Business\nPlain", note + "Item 1. Business\nPlain")
    sections, _ = found(text, "10-K")
    assert text[sections["Item 1"].start :].startswith("Item 1. Business\nPlain")
    assert text[sections["Item 1A"].start :].startswith("Item 1A. Risk Factors\nPlain")


@pytest.mark.parametrize(
    "heading",
    [
        lambda n, title: f"Item {n}. {title}. See Note {list(TITLES_10K).index(n) + 1} \n",
        "Item {}. {}\nNot applicable\n".format,
        lambda n, title: f"Item {n}. {title}\nNone\n\n{list(TITLES_10K).index(n)}\n\n",
    ],
)
def test_a_small_filers_short_items_are_not_taken_for_a_contents_list(heading: Callable[[str, str], str]) -> None:
    sections, _ = found("FORM 10-K\n" + "".join(heading(n, t) for n, t in TITLES_10K.items()) + SIGNED, "10-K")
    assert [k for k in sections if k.startswith("Item")] == [f"Item {n}" for n in TITLES_10K]


def test_headings_that_the_reader_took_for_page_headers_are_still_found() -> None:
    lines = tuple(f"Item {n}. {title}" for n, title in TITLES_10K.items())
    sections, _ = found(layout(annual_report(), headers=lines), "10-K")
    assert [k for k in sections if k.startswith("Item")] == [f"Item {n}" for n in TITLES_10K]


def test_page_headers_that_name_the_item_are_no_headings() -> None:
    page = "PART I\nItem 1, 1A\n"
    text = annual_report().replace(BODY, page.join([BODY[:400], BODY[400:800], BODY[800:]]))
    sections, _ = found(text, "10-K")
    assert list(sections) == ["Cover", *(f"Item {n}" for n in TITLES_10K), "Signatures"]
    assert text[: sections["Item 1A"].start].endswith(BODY[-60:])


def test_continued_headings_on_later_pages_belong_to_the_item() -> None:
    text = annual_report()
    heading = f"Item 7. {TITLES_10K['7']}\n"
    place = text.rindex(heading)
    again = heading.strip() + " (Continued)\n"
    text = text[: place + len(heading) + 300] + "\n" + again + text[place + len(heading) + 300 :]
    sections, _ = found(text, "10-K")
    assert sections["Item 7"].start == place
    assert again in text[sections["Item 7"].start : sections["Item 7"].end]


QUARTERLY = {
    ("I", "1"): "Financial Statements",
    ("I", "2"): TITLES_10K["7"],
    ("I", "3"): TITLES_10K["7A"],
    ("I", "4"): "Controls and Procedures",
    ("II", "1"): "Legal Proceedings",
    ("II", "1A"): "Risk Factors",
    ("II", "2"): "Unregistered Sales of Equity Securities and Use of Proceeds",
    ("II", "6"): "Exhibits",
}


def quarterly_report(untitled: bool = False) -> str:
    parts = {"I": "PART I. FINANCIAL INFORMATION\n", "II": "PART II. OTHER INFORMATION\n"}
    text, current = "FORM 10-Q\nSample Corporation\n", ""
    for (part, number), title in QUARTERLY.items():
        text += "" if part == current else parts[part]
        current = part
        text += f"Item {number}. {'' if untitled else title}\n" + BODY
    return text + SIGNED


@pytest.mark.parametrize("untitled", [False, True])
def test_the_same_item_numbers_in_both_parts_of_a_10_q_are_kept_apart(untitled: bool) -> None:
    text = quarterly_report(untitled)
    sections, _ = found(text, "10-Q")
    assert list(sections) == ["Cover", *(f"Part {p} Item {n}" for p, n in QUARTERLY), "Signatures"]
    second = text.index("PART II")
    assert sections["Part I Item 1"].end < second < sections["Part II Item 1"].start


def test_a_10_q_that_puts_the_discussion_first_still_has_both_items() -> None:
    text = quarterly_report()
    first = text.index("Item 1. Financial Statements")
    second = text.index("Item 2. Management")
    third = text.index("Item 3.")
    text = text[:first] + text[second:third] + text[first:second] + text[third:]
    sections, _ = found(text, "10-Q")
    assert text[sections["Part I Item 1"].start :].startswith("Item 1. Financial")
    assert text[sections["Part I Item 2"].start :].startswith("Item 2. Management")
    flags = sections["Part I Item 1"].flags + sections["Part I Item 2"].flags
    assert "out_of_order" in flags


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("Items 1 and 2. Business and Properties\n", ["Item 1", "Item 2"]),
        ("ITEMS 1. & 2. BUSINESS AND PROPERTIES\n", ["Item 1", "Item 2"]),
        ("Item 1 and Item 2. Business and Properties\n", ["Item 1", "Item 2"]),
    ],
)
def test_one_heading_for_two_items_opens_both_and_only_the_first_has_the_text(heading: str, keys: list[str]) -> None:
    text = annual_report()
    start = text.rindex("Item 1. Business\n")
    text = text[:start] + heading + text[text.rindex("Item 1A.") :]
    cut = text.rindex("Item 2. Properties\n")
    text = text[:cut] + text[text.rindex("Item 3. Legal") :]
    sections, _ = found(text, "10-K")
    for key in keys:
        assert text[sections[key].start :].startswith(heading.strip())
    assert sections[keys[0]].end == sections["Item 1A"].start
    assert (sections[keys[1]].pointer, sections[keys[1]].end) == (keys[0], sections[keys[1]].start)
    assert not any("missing_expected:Item 2" in s.flags for s in sections.values())


def test_items_10_to_13_under_one_heading_share_its_pointer() -> None:
    text = annual_report()
    start = text.rindex("Item 10. ")
    heading = "ITEMS 10, 11, 12 and 13. DIRECTORS, EXECUTIVE COMPENSATION, OWNERSHIP AND RELATIONSHIPS\n"
    reference = "The information is incorporated herein by reference to our definitive Proxy Statement.\n"
    text = text[:start] + heading + reference + text[text.rindex("Item 14. ") :]
    sections, _ = found(text, "10-K")
    assert sections["Item 10"].pointer == "Proxy Statement"
    assert [sections[f"Item {n}"].pointer for n in (11, 12, 13)] == ["Item 10"] * 3
    assert {sections[f"Item {n}"].start for n in (10, 11, 12, 13)} == {start}


def test_titles_without_item_numbers_are_found_where_the_contents_list_names_them() -> None:
    text = annual_report(lambda n, title: f"{title}\n")
    sections, headings = found(layout(text, titles=tuple(TITLES_10K.values())), "10-K")
    assert [k for k in sections if k.startswith("Item")] == [f"Item {n}" for n in TITLES_10K]
    assert all("number_missing" in s.flags for k, s in sections.items() if k.startswith("Item"))
    assert text[sections["Item 1A"].start :].startswith("Risk Factors\nPlain")
    assert all("contents list" in h.reason or "row of the index" in h.reason for h in headings if not h.accepted)


def test_numbers_without_the_word_item_are_headings_where_the_document_has_no_others() -> None:
    sections, _ = found(annual_report("{}. {}\n".format, contents=False), "10-K")
    assert [k for k in sections if k.startswith("Item")] == [f"Item {n}" for n in TITLES_10K]


def index_report() -> Layout:
    """A report with headings of its own and a cross reference index with the pages of each item at its end."""
    pages = {
        4: "ABOUT US. We make things.\n" + BODY,
        5: "MANAGEMENT'S DISCUSSION AND ANALYSIS OF FINANCIAL CONDITION AND RESULTS OF OPERATIONS. Text.\n" + BODY,
        6: "More discussion on another page.\n" + BODY,
        7: "RISK FACTORS. The following matters.\n" + BODY + "LEGAL PROCEEDINGS. Refer to Note 9.\n",
        8: "STATEMENT OF EARNINGS\n" + BODY,
    }
    rows = {
        "1": "4",
        "1A": "7",
        "1B": "Not applicable",
        "2": "4",
        "3": "7",
        "4": "Not applicable",
        "5": "Not applicable",
        "7": "5-6",
        "7A": "6",
        "8": "8-9",
        "9": "Not applicable",
        "10": "(a)",
        "11": "(b)",
        "14": "(c)",
    }
    text, marks = "Cover of the report\n", []
    for number, words in pages.items():
        marks.append(Page(number, len(text), len(text) + len(words), str(number)))
        text += words
    text += "FORM 10-K CROSS REFERENCE INDEX\n"
    text += "".join(f"Item {n}.\t{TITLES_10K[n]}\t{page}\n" for n, page in rows.items())
    notes = ("Governance", "Compensation", "Auditor")
    text += "".join(
        f'({letter}) Incorporated by reference to "{note}" in the Proxy Statement.\n'
        for letter, note in zip("abc", notes, strict=True)
    )
    return Layout(text + SIGNED, Kind.HTML, layout(text + SIGNED).elements, pages=tuple(marks))


def test_a_cross_reference_index_leads_to_the_reports_own_headings() -> None:
    report = index_report()
    sections, _ = found(report, "10-K")

    def opening(key: str) -> str:
        return report.text[sections[key].start :][:16]

    assert opening("Item 1") == "ABOUT US. We mak"
    assert opening("Item 1A") == "RISK FACTORS. Th"
    assert opening("Item 3") == "LEGAL PROCEEDING"
    assert opening("Item 7") == "MANAGEMENT'S DIS"
    assert opening("Item 8") == "STATEMENT OF EAR"
    assert "located_by_page" in sections["Item 8"].flags
    assert "More discussion" in report.text[sections["Item 7"].start : sections["Item 7"].end]


def test_a_row_of_the_index_that_leads_nowhere_is_the_items_section_and_keeps_its_target() -> None:
    sections, _ = found(index_report(), "10-K")
    assert sections["Item 11"].pointer == "Proxy Statement: Compensation"
    assert sections["Item 7A"].pointer == "page 6"
    assert sections["Item 2"].pointer == "page 4"
    assert sections["Item 1B"].pointer is None
    assert "index_row" in sections["Item 1B"].flags


def test_items_without_headings_are_placed_by_the_page_in_the_contents_list() -> None:
    """A bank's 10-Q: the discussion first, then the statements, both under headings of their own."""
    listed = "Item 1. Financial Statements.\nStatements of income for June 30, 2023 and 2022 5\nNotes 6\n"
    listed += f"Item 2. {QUARTERLY['I', '2']}.\nHighlights 3\nOutlook 4\n"
    listed += f"Item 3. {QUARTERLY['I', '3']}. 7\nItem 4. Controls and Procedures. 7\n"
    listed += "PART II\nItem 1. Legal Proceedings. 7\nItem 6. Exhibits. 7\n"
    pages = {
        3: "FINANCIAL HIGHLIGHTS\n" + BODY,
        4: "OUTLOOK\n" + BODY,
        5: "Consolidated statements of income (unaudited)\n" + BODY,
        6: "Notes\n" + BODY,
        7: f"Item 3. {QUARTERLY['I', '3']}\n{BODY}Item 4. Controls and Procedures\n{BODY}"
        f"PART II\nItem 1. Legal Proceedings\n{BODY}Item 6. Exhibits\n{BODY}",
    }
    text, marks = "FORM 10-Q\nSample Bank\nPART I\n" + listed, []
    for number, words in pages.items():
        marks.append(Page(number, len(text), len(text) + len(words), str(number)))
        text += words
    text += SIGNED
    sections, _ = found(Layout(text, Kind.PDF, layout(text).elements, pages=tuple(marks)), "10-Q")
    assert text[sections["Part I Item 2"].start :].startswith("FINANCIAL HIGHLIGHTS")
    assert text[sections["Part I Item 1"].start :].startswith("Consolidated statements of income")
    assert sections["Part I Item 1"].end == sections["Part I Item 3"].start
    assert "located_by_page" in sections["Part I Item 2"].flags
    assert sections["Part II Item 1"].start > sections["Part I Item 4"].start


def test_the_last_item_ends_at_the_signatures_and_exhibits_follow() -> None:
    exhibit = "Exhibit 13.1\n" + BODY
    text = annual_report() + exhibit
    sections, _ = found(layout(text, titles=("Exhibit 13.1",)), "10-K")
    assert text[sections["Item 15"].end :].startswith("SIGNATURES")
    assert text[sections["Exhibit 13.1"].start :] == exhibit


def test_a_number_with_another_items_title_is_flagged_and_not_guessed() -> None:
    text = annual_report(contents=False).replace("Item 3. Legal Proceedings", "Item 3. Unresolved Staff Comments")
    text = text.replace("Item 1B. Unresolved Staff Comments\n", "")
    sections, _ = found(text, "10-K")
    assert "heading_number_differs" in sections["Item 3"].flags


def test_an_expected_item_that_is_not_there_is_flagged_at_the_one_before_it() -> None:
    text = annual_report(contents=False)
    text = text.replace("Item 8. Financial Statements and Supplementary Data\n", "")
    sections, _ = found(text, "10-K")
    assert "Item 8" not in sections
    assert sections["Item 7A"].flags == ("missing_expected:Item 8",)


def test_a_missing_first_item_is_flagged_on_the_cover_and_one_that_the_contents_leave_out_is_not() -> None:
    text = annual_report(contents=False).replace("Item 1. Business\n", "")
    assert found(text, "10-K")[0]["Cover"].flags == ("missing_expected:Item 1",)
    text = annual_report()
    for line in ("Item 8. Financial Statements and Supplementary Data 12\n", "Item 8. Financial Statements and "):
        assert line in text
        text = text.replace(line, "")
    sections, _ = found(text, "10-K")
    assert "Item 8" not in sections
    assert not any(s.flags for s in sections.values())


def test_an_amendment_with_some_items_misses_none() -> None:
    text = "FORM 10-K/A\n" + "".join(f"Item {n}. {TITLES_10K[n]}\n" + BODY for n in ("10", "11", "14")) + SIGNED
    sections, _ = found(text, "10-K/A")
    assert list(sections) == ["Cover", "Item 10", "Item 11", "Item 14", "Signatures"]
    assert all(not s.flags for s in sections.values())


def test_a_size_that_no_such_item_has_is_flagged() -> None:
    text = annual_report().replace(f"Item 9. {TITLES_10K['9']}\n" + BODY, f"Item 9. {TITLES_10K['9']}\n" + BODY * 40)
    text = text.replace("Item 1. Business\n" + BODY, "Item 1. Business\nWe sell.\n")
    sections, _ = found(text, "10-K")
    assert "absurd_size" in sections["Item 9"].flags
    assert "absurd_size" in sections["Item 1"].flags
    assert not sections["Item 7"].flags


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("Information required by this item is incorporated herein by reference to our 2024 Proxy Statement.", "Proxy"),
        ("The information under “Stock Ownership” in the Proxy Statement is incorporated by reference.", "Proxy"),
        ("See Note 12, Commitments and Contingencies, to the consolidated financial statements.", "Note 12"),
        ("The financial statements are set forth in Part IV, Item 15 of this report.", "PART IV, Item 15"),
        ("“Financial Review” on pages 33 through 41 of Exhibit 13 is incorporated by reference.", "Exhibit 13"),
        ("Incorporated by reference to pages 17 to 23 of the Annual Report to Shareholders.", "Annual Report to Sh"),
    ],
)
def test_an_item_that_only_refers_elsewhere_is_a_pointer_with_its_target(body: str, target: str) -> None:
    pointer = find_pointer(body, "11")
    assert pointer is not None
    assert pointer.lower().startswith(target.lower())


@pytest.mark.parametrize(
    "body",
    [
        "None.",
        "Not applicable.",
        "We own twelve plants, eight of them in Ohio. " * 5 + "See Note 4 for leases.",
        BODY * 5,
        "",
    ],
)
def test_an_item_that_says_something_itself_is_no_pointer(body: str) -> None:
    assert find_pointer(body, "2") is None


def test_an_8_k_has_its_numbered_items_and_a_memo_its_titles() -> None:
    text = "FORM 8-K\nItem 2.02. Results of Operations and Financial Condition.\n" + BODY
    text += "Item 9.01 Financial Statements and Exhibits.\n(d) Exhibits\n99.1 Press release\n" + SIGNED
    sections, _ = found(text, "8-K")
    assert list(sections) == ["Cover", "Item 2.02", "Item 9.01", "Signatures"]
    memo = "From: A\nMargin outlook for the second half of the year and what could change it for us\n" + BODY
    memo += "Risks\n" + BODY
    titles = ("Margin outlook for the second half of the year and what could change it for us", "Risks")
    sections, _ = found(layout(memo, titles=titles), "memo")
    assert list(sections) == ["Cover", titles[0][:60].strip(), "Risks"]


def test_a_form_without_any_item_keeps_its_text_and_says_so() -> None:
    sections, headings = found("Nothing here has a heading.\n" + BODY, "10-K")
    assert sections["Cover"].flags == ("no_items_found",)
    assert headings == ()
    assert find_sections(Layout("", Kind.TEXT, ()), "10-Q") == ((), ())


def test_hostile_runs_of_blanks_and_numbers_are_read_in_linear_time() -> None:
    for unit in ("Item " + " " * 500, "Item 1, 2, 3 and 4, ", "\t" * 80 + "i tem 7", "Part I, Item ", "Exhibit . . . "):
        text = unit * (40_000 // len(unit))
        find_sections(layout(text), "10-K")
        find_sections(layout("FORM 10-Q\n" + text), "10-Q")


def test_numbers_are_brought_to_one_spelling() -> None:
    spellings = {"7.a": "7A", "4(a)": "4A", "1 A": "1A", "II": "2", "2.02": "2.02", "1114(B)(2)": "1114(b)(2)"}
    assert {printed: canonical_number(printed) for printed in spellings} == spellings


# -- real filings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Label:
    """An item as a reader found it: `occurrence` counts, among the letters of the whole text, the places where its
    first `letters` letters and digits stand, so that the place holds in any text version."""

    key: str
    letters: int
    sha256: str
    occurrence: int


def labelled() -> dict[str, tuple[str, tuple[Label, ...]]]:
    """File hash to form and labels."""
    rows = json.loads(LABELS.read_text())
    return {row["sha256"]: (row["form"], tuple(Label(**item) for item in row["items"])) for row in rows}


def offsets(text: str, labels: tuple[Label, ...]) -> dict[str, int]:
    """Find the labelled places: only line starts and the word "item" can begin a heading."""
    flat = [(c, i) for i, original in enumerate(text) for c in original.lower() if c.isalnum()]
    joined = "".join(c for c, _ in flat)
    places = [i for _, i in flat]
    starts = {bisect_right(places, i - 1) for i, c in enumerate(text) if i == 0 or text[i - 1] == "\n"}
    at = joined.find("item")
    while at >= 0:
        starts.add(at)
        at = joined.find("item", at + 1)
    digests = {
        length: {s: hashlib.sha256(joined[s : s + length].encode()).hexdigest() for s in starts}
        for length in {label.letters for label in labels}
    }
    result = {}
    for label in labels:
        anchor = next((s for s in sorted(starts) if digests[label.letters][s] == label.sha256), None)
        if anchor is None:
            continue
        needle, position = joined[anchor : anchor + label.letters], -1
        for _ in range(label.occurrence):
            position = joined.find(needle, position + 1)
        if position >= 0:
            result[label.key] = places[position]
    return result


def judge(path: Path, form: str, labels: tuple[Label, ...]) -> tuple[int, list[str]]:
    """Return how many labelled items start at the right line, and what is wrong."""
    from finrag_pipelines.parsing.parse import read_layout

    read = read_layout(path.read_bytes())
    sections = {s.key: s for s in find_sections(read, form)[0] if "Item" in s.key}
    expected = offsets(read.text, labels)
    wrong = [f"{path.name}: {key} should not be there" for key in sections if key not in {x.key for x in labels}]
    right = 0
    for label in labels:
        at, section = expected.get(label.key), sections.get(label.key)
        if at is not None and section is not None and "\n" not in read.text[min(at, section.start) : at].strip():
            right += abs(at - section.start) < 80
        else:
            wrong.append(f"{path.name}: {label.key} labelled at {at}, found at {section and section.start}")
    return right, wrong


def corpus_files(corpus: Path) -> dict[str, Path]:
    files = [p for p in sorted(corpus.glob("sec/**/*")) + sorted(corpus.glob("financebench/pdfs/*")) if p.is_file()]
    return {hashlib.sha256(p.read_bytes()).hexdigest(): p for p in files}


def test_labelled_small_filings_have_their_items_at_the_right_lines(corpus: Path) -> None:
    files = corpus_files(corpus)
    small = {sha: entry for sha, entry in labelled().items() if files[sha].stat().st_size < 200_000}
    assert len(small) >= 6
    wrong = [problem for sha, (form, labels) in small.items() for problem in judge(files[sha], form, labels)[1]]
    assert wrong == []


@pytest.mark.slow
def test_at_least_97_percent_of_all_labelled_items_are_found_at_the_right_line(corpus: Path) -> None:
    files = corpus_files(corpus)
    right, wrong, total = 0, [], 0
    for sha, (form, labels) in labelled().items():
        good, problems = judge(files[sha], form, labels)
        right, total, wrong = right + good, total + len(labels), wrong + problems
    print(f"{right} of {total} labelled items at the right line; {wrong}")
    assert right >= 0.97 * total
    assert not [problem for problem in wrong if "should not be there" in problem]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KO_10-K_FY2023", "KO_10-Q_2023Q2", "PEP_10-Q_2023Q3", "GE_10-K_FY2023"])
def test_the_section_lists_that_come_with_the_corpus_are_found(corpus: Path, name: str) -> None:
    from finrag_pipelines.parsing.parse import read_layout

    rows = json.loads((corpus / "sec" / f"{name}_expected-top-level-sections.json").read_text())
    path = next((corpus / "sec").glob(f"{name}_0*.htm"))
    form = "10-Q" if "10-Q" in name else "10-K"
    keys = {s.key for s in find_sections(read_layout(path.read_bytes()), form)[0]}
    for row in rows:
        identifier = row["identifier"].upper()
        part, _, item = (
            identifier.removeprefix("PART").partition("ITEM") if "ITEM" in identifier else ("", "", identifier)
        )
        key = f"Part {'I' * int(part)} Item {item}" if part else f"Item {item}"
        assert (key in keys) == (row["character_count"] > 0), key


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("old/AAPL_10-Q_FY2000Q2_0000912057-00-023442.txt", "10-Q"),
        ("old/TEXTRON_10-K405_FY2001.txt", "10-K405"),
        ("KO_10-K_FY1997_0000021344-98-000004.txt", "10-K"),
    ],
)
def test_an_independent_itemizer_sees_the_same_items(corpus: Path, tmp_path: Path, name: str, form: str) -> None:
    sgml = pytest.importorskip("edgar_itemize.sgml", reason="edgar-itemize is not installed: it is a witness only")
    from edgar_itemize.pipeline import parse_document  # pyright: ignore[reportMissingImports]
    from edgar_itemize.select import select_primary  # pyright: ignore[reportMissingImports]

    from finrag_pipelines.parsing.parse import read_layout

    renamed = tmp_path / "0000000000-00-000001.txt"  # it reads the accession number from the name
    shutil.copy(corpus / "sec" / name, renamed)
    submission = sgml.load_submission(renamed)
    document = select_primary(submission.documents, form)
    assert document is not None
    nodes = [n.label_canon or "" for n in parse_document(submission, document, "1").nodes]
    labels = [n.removeprefix("ITEM ") for n in nodes if n.startswith("ITEM")]
    theirs = {f"Part {x.partition('.')[0]} Item {x.partition('.')[2]}" if "." in x else f"Item {x}" for x in labels}
    ours = {s.key for s in find_sections(read_layout(renamed.read_bytes()), form)[0] if "Item" in s.key}
    assert theirs == ours - {"Item X"}  # it knows no unnumbered item


def test_documents_joined_behind_the_filing_are_sections_of_their_own() -> None:
    items = "".join(f"Item {number}. {title}\n{BODY}" for number, title in TITLES_10K.items())
    report = "ANNUAL REPORT\nSELECTED FINANCIAL DATA\n" + BODY
    whole = layout(items + SIGNED + BODY + report, titles=("SELECTED FINANCIAL DATA",))
    start = len(items + SIGNED + BODY)
    sections, _ = find_sections(replace(whole, joined=(("EX-13", start),)), "10-K")
    behind = {section.key: section.start for section in sections[-2:]}
    assert list(behind) == ["Signatures", "Exhibit 13"]
    assert behind["Exhibit 13"] == start


def test_an_annual_report_behind_the_signatures_has_parts_of_its_own() -> None:
    items = "".join(f"Item {number}. {title}\n{BODY}" for number, title in TITLES_10K.items())
    behind = ("| FINANCIAL SECTION", "| MANAGEMENT'S DISCUSSION OF OPERATIONS", "| SELECTED FINANCIAL DATA")
    whole = layout(items + SIGNED + "".join(f"{title}\n{BODY}" for title in behind), titles=behind)
    sections, _ = find_sections(whole, "10-K")
    assert [section.key for section in sections[-4:]] == [
        "Signatures",
        "Annual Report",
        "Management's Discussion",
        "Selected Financial Data",
    ]
