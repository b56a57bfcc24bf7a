"""Speakers of calls: names, roles, firms and parts, in the layouts that providers use; and repaired encodings."""

import itertools
import json
import re
from pathlib import Path

import pytest

from finrag_pipelines.parsing.model import FURNITURE, Kind, Layout, Turn, UnreadableError
from finrag_pipelines.parsing.readers.mojibake import repair_mojibake
from finrag_pipelines.parsing.readers.pdf import read_pdf
from finrag_pipelines.parsing.readers.plaintext import layout_of_text
from finrag_pipelines.parsing.speakers.participants import Participant, role_of, same_person, with_credentials
from finrag_pipelines.parsing.speakers.turns import find_turns, is_transcript, read_json_transcript

LISTED = """Northwind Foods, Inc. (NYSE:NWF) Q2 2024 Earnings Conference Call July 30, 2024 8:30 AM ET
Company Participants
Ada Lindgren - Vice President, Investor Relations
Ruth Okonkwo - Chairman and Chief Executive Officer
Pavel Marchetti - Executive Vice President and CFO
Noor Haddad - Chief Executive Officer of Frozen Foods
Conference Call Participants
Dana Whitfield - Harbor Securities
Jonathan Price - Kestrel & Company
Operator
Good morning, and welcome to the Northwind Foods second quarter earnings call. I now introduce Ada Lindgren.
Ada Lindgren
Thank you, operator. With me are Ruth Okonkwo and Pavel Marchetti.
Ruth Okonkwo
Thanks, Ada. Volume grew in every region.
Sales rose as well.
Pavel Marchetti
Margins improved by 40 basis points.
Question-and-Answer Session
Operator
Our first question comes from Dana Whitfield with Harbor Securities.
Dana Whitfield
What do you expect of volume?
Ruth Okonkwo
Growth of 3 percent.
Operator
Our next question comes from Jon Price with Kestrel.
Jonathan Price
And Frozen?
Noor Haddad
Frozen is doing well.
Operator
This concludes the call. You may now disconnect.
"""

INLINE = """Q3 2021 Northwind Foods Inc Earnings Call - Final
Presentation
OPERATOR: Good morning. Welcome to the Northwind Foods third quarter call. This call is being recorded.
RUTH A. OKONKWO, CHAIRMAN & CEO, NORTHWIND FOODS INC.: Thank you. Revenue was $2 billion.
Two things stand out: price and mix.
PAVEL MARCHETTI, CFO, NORTHWIND FOODS INC.: Margins improved.
Questions and Answers
OPERATOR: Our first question comes from Ken Asada of Harbor.
KENNETH MICHAEL ASADA, MD & SENIOR ANALYST, HARBOR SECURITIES LLC, RESEARCH DIVISION: On margins, what drove them?
PAVEL MARCHETTI: Price. And to be clear: mix as well.
KENNETH MICHAEL ASADA: Thanks.
OPERATOR: Thank you. You may now disconnect.
"""


def turns_of(text: str) -> tuple[tuple[Turn, ...], Layout]:
    layout = layout_of_text(text)
    return find_turns(layout), layout


def who(turns: tuple[Turn, ...]) -> dict[str, tuple[str, str | None]]:
    return {turn.speaker: (turn.role, turn.firm) for turn in turns}


def test_participants_lists_give_roles_and_firms() -> None:
    turns, layout = turns_of(LISTED)
    assert who(turns) == {
        "Operator": ("operator", None),
        "Ada Lindgren": ("investor_relations", None),
        "Ruth Okonkwo": ("chief_executive", None),
        "Pavel Marchetti": ("chief_financial_officer", None),
        "Dana Whitfield": ("analyst", "Harbor Securities"),
        "Jonathan Price": ("analyst", "Kestrel & Company"),
        "Noor Haddad": ("executive", None),
    }
    assert is_transcript(layout)


def test_a_turn_begins_at_its_label_and_holds_all_that_is_said_until_the_next() -> None:
    turns, layout = turns_of(LISTED)
    ruth = next(turn for turn in turns if turn.speaker == "Ruth Okonkwo")
    said = layout.text[ruth.start : ruth.end]
    assert said.startswith("Ruth Okonkwo") and said.endswith("Sales rose as well.")
    assert all(before.end <= after.start for before, after in itertools.pairwise(turns))
    assert all(not layout.text[a.end : b.start].strip() for a, b in itertools.pairwise(turns))
    assert "Company Participants" not in layout.text[turns[0].start :]


def test_questions_begin_at_their_heading() -> None:
    turns, _ = turns_of(LISTED)
    assert [turn.speaker for turn in turns if turn.part == "prepared_remarks"] == [
        "Operator",
        "Ada Lindgren",
        "Ruth Okonkwo",
        "Pavel Marchetti",
    ]


def test_questions_begin_with_the_first_introduction_where_no_heading_says_so() -> None:
    turns, layout = turns_of(LISTED.replace("Question-and-Answer Session\n", ""))
    first = next(turn for turn in turns if turn.part == "questions")
    assert "first question" in layout.text[first.start : first.end]


def test_names_with_title_and_firm_before_a_colon_are_speakers_and_other_colons_are_not() -> None:
    turns, layout = turns_of(INLINE)
    assert who(turns) == {
        "Operator": ("operator", None),
        "Ruth A. Okonkwo": ("chief_executive", "NORTHWIND FOODS INC."),
        "Pavel Marchetti": ("chief_financial_officer", "NORTHWIND FOODS INC."),
        "Kenneth Michael Asada": ("analyst", "HARBOR SECURITIES LLC, RESEARCH DIVISION"),
    }
    assert len(turns) == 8
    ruth = next(turn for turn in turns if turn.role == "chief_executive")
    assert "Two things stand out" in layout.text[ruth.start : ruth.end]


def test_the_operators_introduction_makes_an_analyst_with_a_firm_where_no_list_does() -> None:
    text = LISTED[LISTED.index("Operator\n") :]
    turns, _ = turns_of(text)
    assert who(turns)["Dana Whitfield"] == ("analyst", "Harbor Securities")
    assert who(turns)["Jonathan Price"] == ("analyst", "Kestrel")
    assert who(turns)["Ruth Okonkwo"][0] == "executive"


def test_who_answers_is_never_taken_for_who_asked() -> None:
    text = LISTED.replace("Dana Whitfield\nWhat do you expect of volume?\n", "")
    turns, _ = turns_of(text)
    assert {turn.role for turn in turns if turn.speaker == "Ruth Okonkwo"} == {"chief_executive"}
    roles = {turn.speaker: turn.role for turn in turns}
    assert "Dana Whitfield" not in roles and roles["Jonathan Price"] == "analyst"


def test_titles_said_in_the_opening_count_where_no_list_gives_them() -> None:
    text = (
        "Northwind Foods Q1 2025 earnings call\n"
        "Operator\nGood day. Welcome to the call. I will hand over to Ada Lindgren, Head of Investor Relations.\n"
        "Ada Lindgren\nWith me are Ruth Okonkwo, our Chief Executive Officer; and our CFO, Pavel Marchetti.\n"
        "Ruth Okonkwo\nHello everyone.\n"
        "Pavel Marchetti\nHello.\n"
        "Operator\nThe first question comes from Dana Whitfield with Harbor.\n"
        "Dana Whitfield\nGood quarter.\n"
        "Ruth Okonkwo\nThank you.\n"
    )
    turns, _ = turns_of(text)
    roles = {turn.speaker: turn.role for turn in turns}
    assert roles["Ada Lindgren"] == "investor_relations"
    assert roles["Ruth Okonkwo"] == "chief_executive"
    assert roles["Dana Whitfield"] == "analyst"


LONG = "We delivered strong organic growth in the quarter, driven by volume and pricing in all of our regions. " * 3
LAYOUTS = {
    "name and firm below, operator before a colon": f"""Northwind Foods, Inc. Q2 2024 Earnings Call
CORPORATE PARTICIPANTS
Ada Lindgren
Vice President-Investor Relations, Northwind Foods, Inc.
Ruth Okonkwo
Chairman & Chief Executive Officer, Northwind Foods, Inc.
OTHER PARTICIPANTS
Dana Whitfield
Analyst, Harbor Securities LLC
MANAGEMENT DISCUSSION SECTION
Operator: Good morning. {LONG}
Ada Lindgren
Vice President-Investor Relations, Northwind Foods, Inc.
Thanks. {LONG}
Ruth Okonkwo
Chairman & Chief Executive Officer, Northwind Foods, Inc.
{LONG}
QUESTION AND ANSWER SECTION
Operator: The first question is from Dana Whitfield with Harbor.
Dana Whitfield
Analyst, Harbor Securities LLC
Q
Hi. {LONG}
Ruth Okonkwo
Chairman & Chief Executive Officer, Northwind Foods, Inc.
A
Sure. {LONG}
""",
    "Q and A before the name": f"""Q2 2024 Earnings Call
Company Participants
• Ada Lindgren, Vice President, Investor Relations
• Ruth Okonkwo, Chief Executive Officer
Other Participants
• Dana Whitfield, Analyst
Presentation
Operator
Good morning. {LONG}
Ada Lindgren, Vice President, Investor Relations
Thanks. {LONG}
Ruth Okonkwo, Chief Executive Officer
{LONG}
Questions And Answers
Operator
We take our first question from Dana Whitfield with Harbor Securities LLC.
Q - Dana Whitfield {{BIO 123456 <GO>}}
Hi. {LONG}
A - Ruth Okonkwo {{BIO 7654 <GO>}}
Sure. {LONG}
""",
    "name, firm and title on one line": f"""Q2 2024 Northwind Foods Inc Earnings Call
CORPORATE PARTICIPANTS
Ada Lindgren Northwind Foods Inc - VP of IR
Ruth Okonkwo Northwind Foods Inc - Chairman & CEO
CONFERENCE CALL PARTICIPANTS
Dana Whitfield Harbor Securities LLC - MD & Senior Analyst
PRESENTATION
Operator
Good day. {LONG}
Ada Lindgren - Northwind Foods Inc - VP of IR
Thanks. {LONG}
Ruth Okonkwo - Northwind Foods Inc - Chairman & CEO
{LONG}
QUESTIONS AND ANSWERS
Operator
(Operator Instructions) The first question is from the line of Dana Whitfield of Harbor.
Dana Whitfield - Harbor Securities LLC - MD & Senior Analyst
Hi. {LONG}
Ruth Okonkwo - Northwind Foods Inc - Chairman & CEO
Sure. {LONG}
""",
}


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_each_layout_of_labels_gives_the_same_turns(layout: str) -> None:
    turns, _ = turns_of(LAYOUTS[layout])
    assert [(turn.speaker, turn.role, turn.part) for turn in turns] == [
        ("Operator", "operator", "prepared_remarks"),
        ("Ada Lindgren", "investor_relations", "prepared_remarks"),
        ("Ruth Okonkwo", "chief_executive", "prepared_remarks"),
        ("Operator", "operator", "questions"),
        ("Dana Whitfield", "analyst", "questions"),
        ("Ruth Okonkwo", "chief_executive", "questions"),
    ]
    assert who(turns)["Dana Whitfield"][1] == "Harbor Securities LLC"


def test_web_pages_with_emphasized_names() -> None:
    from finrag_pipelines.parsing.readers.html import read_html

    page = f"""<html><body><h1>Northwind Foods Q2 2024 Earnings Call Transcript</h1><h2>Prepared Remarks:</h2>
<p><strong>Operator</strong></p><p>Good day and welcome to the call. {LONG}</p>
<p><strong>Ruth Okonkwo</strong> -- <em>Chief Executive Officer</em></p><p>{LONG}</p>
<h2>Questions &amp; Answers:</h2><p><strong>Operator</strong></p>
<p>Our first question comes from Dana Whitfield with Harbor.</p>
<p><strong>Dana Whitfield</strong> -- <em>Harbor Securities -- Analyst</em></p><p>{LONG}</p>
<h2>Call participants:</h2><p><strong>Ruth Okonkwo</strong> -- <em>Chief Executive Officer</em></p></body></html>"""
    layout = read_html(page.encode())
    turns = find_turns(layout)
    assert [(turn.speaker, turn.role, turn.part) for turn in turns] == [
        ("Operator", "operator", "prepared_remarks"),
        ("Ruth Okonkwo", "chief_executive", "prepared_remarks"),
        ("Operator", "operator", "questions"),
        ("Dana Whitfield", "analyst", "questions"),
    ]
    assert "Call participants" not in layout.text[turns[-1].start : turns[-1].end]


def test_two_people_of_one_last_name_stay_two() -> None:
    text = (
        "Presentation\n"
        "Jason Wang - Meridian Chips, Investor Relations (00:00:00) Welcome to the call, Jessie.\n\n"
        "Jessie Wang - Meridian Chips, Chief Financial Officer (00:00:12) Thank you, Jason. Revenue grew.\n\n"
        "Q&A\n"
        "Jason Wang - Meridian Chips, Investor Relations (00:05:00) What of smartphones?\n\n"
        "Jessie Wang - Meridian Chips, Chief Financial Officer (00:05:10) 我們預期成長。\n"
    )
    turns, _ = turns_of(text)
    assert [(turn.speaker, turn.role, turn.part) for turn in turns] == [
        ("Jason Wang", "investor_relations", "prepared_remarks"),
        ("Jessie Wang", "chief_financial_officer", "prepared_remarks"),
        ("Jason Wang", "investor_relations", "questions"),
        ("Jessie Wang", "chief_financial_officer", "questions"),
    ]


def test_words_without_speaker_marks_are_one_turn_of_nobody() -> None:
    text = (
        "Good morning and welcome to the Northwind Foods call. I am Ada Lindgren. Thank you for joining us. "
        "Our first question comes from Dana Whitfield with Harbor. Hi, what about volume? Sure, Dana, it grew."
    )
    turns, layout = turns_of(text)
    assert [(turn.speaker, turn.role, turn.part) for turn in turns] == [("Unknown speaker", "unknown", "unknown")]
    assert layout.text[turns[0].start : turns[0].end].strip() == layout.text.strip()


def test_unidentified_speakers_are_named_so() -> None:
    turns, _ = turns_of(LISTED.replace("Dana Whitfield\nWhat", "Unidentified Analyst\nWhat"))
    assert who(turns)["Unidentified Analyst"] == ("analyst", None)


def test_a_closing_list_or_notice_belongs_to_no_turn() -> None:
    turns, layout = turns_of(LISTED + "Duration: 42 minutes\nCopyright © 2024 Somebody. All rights reserved.\n")
    assert layout.text[turns[-1].start : turns[-1].end].endswith("You may now disconnect.")


def test_a_filing_is_no_transcript() -> None:
    _, layout = turns_of("UNITED STATES SECURITIES AND EXCHANGE COMMISSION\nFORM 10-Q\nItem 1: Financial Statements\n")
    assert not is_transcript(layout)


def test_json_with_parts_and_participants() -> None:
    record = {
        "prepared_remarks": [
            {"speaker": "Operator", "speech": "Welcome to the call."},
            {"speaker": "Ruth Okonkwo", "speech": "Revenue rose.\nMargins too."},
        ],
        "q_and_a": [
            {"speaker": "Operator", "speech": "First question is from Dana Whitfield of Harbor."},
            {"speaker": "Dana Whitfield", "speech": "Whatâ€™s next?"},
        ],
        "participants": ["Ruth Okonkwo--Chief Executive Officer", "Dana Whitfield--Harbor Securities -- Analyst"],
    }
    layout = read_json_transcript(json.dumps(record).encode())
    turns = find_turns(layout)
    assert [(t.speaker, t.role, t.firm, t.part) for t in turns] == [
        ("Operator", "operator", None, "prepared_remarks"),
        ("Ruth Okonkwo", "chief_executive", None, "prepared_remarks"),
        ("Operator", "operator", None, "questions"),
        ("Dana Whitfield", "analyst", "Harbor Securities", "questions"),
    ]
    assert "What’s next?" in layout.text and is_transcript(layout)
    assert all(layout.text[e.start : e.end].strip() == layout.text[e.start : e.end] for e in layout.elements)


def test_json_with_numbered_voices_and_a_map_of_names_that_mixes_up_the_operator() -> None:
    record = {
        "event": {"year": 2023, "quarter": 1, "conference_date": "2023-02-02T17:00:00"},
        "speakers": [
            {"speaker": "spk1", "text": "Welcome to the call. I would like to turn the call over to Ada Lindgren."},
            {"speaker": "spk2", "text": "Thank you. Speaking first is our chief executive, Ruth."},
            {"speaker": "spk3", "text": "Revenue rose."},
            {"speaker": "spk1", "text": "Our first question is from Dana Whitfield with Harbor."},
            {"speaker": "spk4", "text": "Congratulations."},
            {"speaker": "spk9", "text": "Thanks."},
        ],
        "speaker_name_map_v2": {
            "spk1": {"name": "Ada Lindgren", "title": "Director of Investor Relations"},
            "spk2": {"name": "Operator", "title": None},
            "spk3": {"name": "Ruth Okonkwo", "title": "CEO"},
            "spk4": {"name": "Dana Whitfield", "title": "Harbor Analyst"},
        },
    }
    layout = read_json_transcript(json.dumps(record).encode())
    assert [(t.speaker, t.role) for t in find_turns(layout)] == [
        ("Operator", "operator"),
        ("Ada Lindgren", "investor_relations"),
        ("Ruth Okonkwo", "chief_executive"),
        ("Operator", "operator"),
        ("Dana Whitfield", "analyst"),
        ("spk9", "unknown"),
    ]
    assert (layout.metadata["year"], layout.metadata["quarter"]) == ("2023", "1")


def test_json_of_one_text_with_names_before_colons() -> None:
    text = "Operator: Welcome to the call.\nRuth Okonkwo: Revenue rose.\nOperator: Goodbye."
    layout = read_json_transcript(json.dumps([{"symbol": "NWF", "year": 2024, "quarter": 2, "content": text}]).encode())
    assert [turn.speaker for turn in find_turns(layout)] == ["Operator", "Ruth Okonkwo", "Operator"]


@pytest.mark.parametrize("content", [b"{", b"[1, 2]", b'{"a": {"b": "c"}}', b"[" * 100_000])
def test_other_json_is_refused_with_advice(content: bytes) -> None:
    with pytest.raises(UnreadableError, match=r"fetch|hand in"):
        read_json_transcript(content)


@pytest.mark.parametrize(
    ("title", "role"),
    [
        ("Chairman and Chief Executive Officer", "chief_executive"),
        ("Chief Executive Officer, President and Executive Director", "chief_executive"),
        ("CEO, Northwind Foods", "chief_executive"),
        ("Executive Vice President and Chief Executive Officer of Optical Goods", "executive"),
        ("CEO, Asia Pacific", "executive"),
        ("Former Chief Executive Officer", "executive"),
        ("Executive Vice President & CFO", "chief_financial_officer"),
        ("Chief Financial Officer and Head of Investor Relations", "chief_financial_officer"),
        ("Deputy Chief Financial Officer", "executive"),
        ("VP, IR", "investor_relations"),
        ("Chief Operating Officer", "executive"),
        ("首席执行官", "chief_executive"),
    ],
)
def test_titles_tell_the_role(title: str, role: str) -> None:
    assert role_of(Participant("A B", title=title, side="company"), "Northwind Foods, Inc.") == role


@pytest.mark.parametrize(
    ("credentials", "title", "firm"),
    [
        ("Bank of America -- Analyst", "Analyst", "Bank of America"),
        ("UBS Analyst", "Analyst", "UBS"),
        ("Goldman Sachs Group Inc., Research Division", None, "Goldman Sachs Group Inc., Research Division"),
        (
            "MD & ANALYST, UBS BANK, RESEARCH DIVISION",
            "MD & ANALYST",
            "UBS BANK, RESEARCH DIVISION",
        ),
        ("Senior Vice President, Investor Relations", "Senior Vice President, Investor Relations", None),
    ],
)
def test_credentials_part_into_title_and_firm(credentials: str, title: str | None, firm: str | None) -> None:
    person = with_credentials(Participant("A B"), credentials, "Northwind")
    assert (person.title, person.firm) == (title, firm)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("William B. Chappell", "Bill Chappell", True),
        ("Jonathan Michael Petersen", "Jon Petersen", True),
        ("Jason Wang", "Jessie Wang", False),
        ("Dara Mohsenian", "Dara Smith", False),
        ("Mr. José García", "Jose Garcia", True),
    ],
)
def test_names_of_one_person_are_recognized(one: str, other: str, same: bool) -> None:
    assert same_person(one, other) is same


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("itâ€™s", "it’s"),
        ("PepsiCoâ\x80\x99s", "PepsiCo’s"),
        ("CrÃ©dit Suisse", "Crédit Suisse"),
        ("Ã¢Â€Â™", "’"),
        ("10Â\xa0million", "10\xa0million"),
        ("ä¸\xadæ–‡", "中文"),
        ("NESTLÉ® and CAFÉ’s", "NESTLÉ® and CAFÉ’s"),
        ("São Paulo, Âge, naïve, 中文", "São Paulo, Âge, naïve, 中文"),
        ("plain", "plain"),
    ],
)
def test_mojibake_is_repaired_and_honest_text_is_left_alone(broken: str, whole: str) -> None:
    assert repair_mojibake(broken) == whole


def test_hostile_text_takes_little_time() -> None:
    import time

    for text in (
        "A - " * 20_000,
        "Aa " * 30_000,
        "from Aa Bb " * 10_000,
        "X: y\n" * 10_000,
        "Aa Bb\n" * 10_000,
        "Aa Bb. Aa Bb " * 5_000,
        "â€" * 50_000,
    ):
        start = time.process_time()
        find_turns(Layout(repair_mojibake(text), Kind.TEXT, ()))
        assert time.process_time() - start < 2, text[:20]


# What a reader of the transcripts finds, by file: number of turns, chief executive, chief financial officer, analysts.
READ = {
    "seekingalpha/KO_2021Q3.txt": (61, "James Quincey", "John Murphy", 13),
    "seekingalpha/UNH_2012Q4.txt": (96, "Stephen J. Hemsley", "David S. Wichmann", 13),
    "seekingalpha/MDLZ_2022Q2.txt": (38, "Dirk Van de Put", "Luca Zaramella", 6),
    "motleyfool_json/AIG_2021Q1.json": (59, "Peter Zaffino", "Mark Lyons", 6),
    "motleyfool_json/HUM_2021Q2.json": (79, "Bruce D. Broussard", "Susan M. Diamond", 13),
    "factiva/JPM_2019Q4.txt": (101, "James Dimon", "Jennifer A. Piepszak", 13),
    "pdf/DLR_2024Q1_SPCapIQ.pdf": (57, "Andrew P. Power", "Matthew Mercier", 14),
    "pdf/SWIGGY_FY25Q2.pdf": (102, "Sriharsha Majety", "Rahul Bothra", 13),
    "api_json/AAPL_2023Q1_speakers.json": (68, "Tim Cook", "Luca Maestri", 9),
}


@pytest.mark.parametrize("path", sorted(READ))
def test_real_calls_have_their_speakers(path: str, corpus) -> None:
    from finrag_pipelines.parsing.parse import read_layout

    layout = read_layout((corpus / "transcripts" / path).read_bytes())
    turns = find_turns(layout)
    count, chief, finance, analysts = READ[path]
    assert len(turns) == count
    assert {turn.speaker for turn in turns if turn.role == "chief_executive"} == {chief}
    assert {turn.speaker for turn in turns if turn.role == "chief_financial_officer"} == {finance}
    asked = {turn.speaker for turn in turns if turn.role == "analyst"}
    assert len(asked) == analysts
    assert all(turn.firm for turn in turns if turn.role == "analyst")
    assert not any(turn.role == "analyst" for turn in turns if turn.part == "prepared_remarks")
    label = re.compile(r"\w")
    assert all(label.match(layout.text[turn.start]) for turn in turns)


def test_a_turn_ends_before_the_running_lines_of_its_page(sample: Path) -> None:
    for path in sorted(sample.glob("*_transcript_*.pdf")):
        layout = read_pdf(path.read_bytes())
        running = [element for element in layout.elements if element.kind in FURNITURE]
        turns = find_turns(layout)
        assert len(turns) > 15 and len(running) > 4
        assert not any(element.start < turn.end <= element.end for turn in turns for element in running)
