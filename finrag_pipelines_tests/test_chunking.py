"""Fragments: where they begin and end, what their context says, and that nothing is lost or said twice."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.chunking.checks import first_gap
from finrag_pipelines.chunking.chunk import chunk
from finrag_pipelines.chunking.files import read_fragments, write_fragments
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.chunking.sentences import sentences
from finrag_pipelines.chunking.tokens import SPECIAL_TOKENS, WINDOW, minilm_counter, minilm_folder
from finrag_pipelines.parsing.model import (
    Cell,
    Element,
    ElementKind,
    Kind,
    Page,
    ParsedDocument,
    Row,
    Section,
    Table,
    Turn,
    UnreadableError,
)
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.storage import StoreError

IDENTITY = Identity(
    company="KO", company_name="The Coca-Cola Company", form="10-Q", period="2025Q3", filed="2025-10-23"
)
PROSE = (
    "Net operating revenues grew 5 percent in the quarter, driven by price and mix. Our bottlers in the U.S. gained "
    "volume share of 0.4 points. Mr. J. P. Quincey said that Acme Inc. and other partners invested $1.5 billion. "
)


class Draft:
    """A document in the making: blocks are appended, offsets follow."""

    def __init__(self) -> None:
        self.text = ""
        self.elements: list[Element] = []
        self.sections: list[Section] = []
        self.turns: list[Turn] = []
        self.pages: list[Page] = []
        self.tables: list[Table] = []

    def add(self, kind: ElementKind, text: str, **more: object) -> tuple[int, int]:
        start = len(self.text)
        self.text += text + "\n\n"
        self.elements.append(Element(kind, start, start + len(text), **more))  # type: ignore[arg-type]
        return start, start + len(text)

    def table(self, rows: list[str], headers: int, period: str = "2025Q3") -> None:
        start = len(self.text)
        made: list[Row] = []
        for position, line in enumerate(rows):
            at = len(self.text)
            self.text += line + "\n"
            cells = () if position < headers else (Cell(at, at + len(line), 1, "2025", period=period),)
            made.append(Row(line.split(" $")[0], at, at + len(line), cells, is_header=position < headers))
        self.tables.append(Table(start, len(self.text) - 1, "Balance Sheet", "(in millions)", tuple(made)))
        self.elements.append(Element(ElementKind.TABLE, start, len(self.text) - 1, table=len(self.tables) - 1))
        self.text += "\n"

    def document(self, identity: Identity = IDENTITY) -> ParsedDocument:
        return ParsedDocument(
            self.text,
            Kind.HTML,
            "test/1",
            identity,
            tuple(self.elements),
            tuple(self.pages),
            tuple(self.sections),
            (),
            tuple(self.turns),
            tuple(self.tables),
        )


def cut(document: ParsedDocument) -> tuple[Fragment, ...]:
    return chunk(document, "KO_10-Q_2025Q3", 1, "c" * 64, "r" * 64)


def real_tokens(text: str) -> int:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return len(tokenizer.encode(text).ids)


def test_every_character_outside_furniture_lies_in_exactly_one_fragment_that_reads_back() -> None:
    draft = Draft()
    for number in range(12):
        draft.add(ElementKind.HEADER, f"KO 10-Q page header {number}")
        draft.add(ElementKind.TITLE, f"Topic {number}")
        draft.add(ElementKind.PARAGRAPH, PROSE * 4)
        draft.text += "words that no element holds. "
    document = draft.document()
    fragments = cut(document)
    covered = [0] * len(document.text)
    for fragment in fragments:
        assert document.text[fragment.start : fragment.end] == fragment.text
        for position in range(fragment.start, fragment.end):
            covered[position] += 1
    hidden = {p for e in document.elements if e.kind is ElementKind.HEADER for p in range(e.start, e.end)}
    for position, character in enumerate(document.text):
        if position in hidden:
            assert covered[position] == 0
        elif not character.isspace():
            assert covered[position] == 1, (position, document.text[position : position + 40])
    assert first_gap(document, fragments) is None


def test_a_paragraph_parted_by_a_page_footer_becomes_two_fragments() -> None:
    draft = Draft()
    draft.add(ElementKind.PARAGRAPH, "Revenue rose because our prices")
    draft.add(ElementKind.FOOTER, "Page 12 of 90")
    draft.add(ElementKind.PARAGRAPH, "rose faster than our costs.")
    fragments = cut(draft.document())
    assert [fragment.text for fragment in fragments] == [
        "Revenue rose because our prices",
        "rose faster than our costs.",
    ]


def test_no_fragment_crosses_a_section_or_a_page() -> None:
    draft = Draft()
    first = draft.add(ElementKind.PARAGRAPH, "Item 1. Business. We sell drinks.")
    second = draft.add(ElementKind.PARAGRAPH, "Item 1A. Risk Factors. Sugar may cost more.")
    third = draft.add(ElementKind.PARAGRAPH, "Water may cost more.")
    draft.sections = [
        Section("Item 1", "Business", first[0], second[0]),
        Section("Item 1A", "Risk Factors", second[0], third[1], pointer="the proxy statement"),
    ]
    draft.pages = [Page(0, 0, third[0], "i"), Page(1, third[0], len(draft.text), "ii")]
    found = cut(draft.document())
    assert [(f.section, f.page_index, f.page_label, f.is_pointer) for f in found] == [
        ("Item 1", 0, "i", False),
        ("Item 1A", 0, "i", True),
        ("Item 1A", 1, "ii", True),
    ]
    assert found[1].context == "The Coca-Cola Company (KO) · 10-Q · 2025Q3 · Item 1A Risk Factors"


def test_fragments_keep_to_the_window_and_are_counted_by_the_real_tokenizer() -> None:
    draft = Draft()
    for _ in range(10):
        draft.add(ElementKind.PARAGRAPH, PROSE * 3)
    fragments = cut(draft.document())
    assert all(fragment.tokens == real_tokens(fragment.embedded_text) <= WINDOW for fragment in fragments)
    assert sum(fragment.tokens for fragment in fragments) / len(fragments) > 180


def test_short_neighbouring_elements_are_merged() -> None:
    draft = Draft()
    for number in range(6):
        draft.add(ElementKind.LIST_ITEM, f"• brand number {number} grew")
    assert len(cut(draft.document())) == 1


def test_a_title_stands_with_what_follows_it() -> None:
    draft = Draft()
    draft.add(ElementKind.PARAGRAPH, PROSE * 3)
    draft.add(ElementKind.TITLE, "Liquidity and Capital Resources")
    draft.add(ElementKind.PARAGRAPH, PROSE * 3)
    fragments = cut(draft.document())
    assert not any(fragment.text.endswith("Liquidity and Capital Resources") for fragment in fragments)
    assert any(fragment.text.startswith("Liquidity and Capital Resources") for fragment in fragments)
    assert "Liquidity and Capital Resources" in fragments[-1].embedded_text


def test_tables_are_cut_between_rows_with_caption_units_and_header_repeated_in_the_context_only() -> None:
    draft = Draft()
    rows = [f"Assets of business number {n} $ {n},250 $ {n},180" for n in range(60)]
    draft.table(["September 26, 2025 December 31, 2024", *rows], headers=1)
    document = draft.document()
    fragments = cut(document)
    assert len(fragments) > 3
    assert "\n".join(fragment.text for fragment in fragments) == document.text.strip()
    for fragment in fragments:
        assert fragment.representation_type == "table_text"
        assert fragment.periods == ("2025Q3",)
        assert "Balance Sheet" in fragment.context and "(in millions)" in fragment.context
    assert fragments[0].text.startswith("September 26, 2025") and "September 26, 2025" not in fragments[0].context
    for fragment in fragments[1:]:
        assert "September 26, 2025 December 31, 2024" in fragment.context
        assert "September 26, 2025" not in fragment.text


def test_rows_report_the_periods_of_their_cells_and_prose_also_that_of_the_filing() -> None:
    draft = Draft()
    draft.table(["Year $ 2024", *(f"Row {n} $ {n}" for n in range(30))], headers=1, period="FY2024")
    draft.add(ElementKind.PARAGRAPH, PROSE * 2, periods=("FY2023",))
    fragments = cut(draft.document())
    assert {f.periods for f in fragments if f.representation_type == "table_text"} == {("FY2024",)}
    assert {f.periods for f in fragments if f.representation_type == "native_text"} == {("2025Q3", "FY2023")}


def test_turns_are_never_mixed_and_name_their_speaker() -> None:
    draft = Draft()
    one = draft.add(ElementKind.PARAGRAPH, "Dara Mohsenian\nWhat about volume?")
    two = draft.add(ElementKind.PARAGRAPH, "James Quincey\nVolume will grow.")
    draft.turns = [
        Turn("Dara Mohsenian", *one, role="analyst", firm="Morgan Stanley", part="questions"),
        Turn("James Quincey", *two, role="chief_executive", title="Chairman and CEO", part="questions"),
    ]
    asked, answered = cut(draft.document())
    assert (asked.speaker, asked.role, asked.firm, asked.part) == (
        "Dara Mohsenian",
        "analyst",
        "Morgan Stanley",
        "questions",
    )
    assert answered.representation_type == "transcript_turn"
    assert answered.context.endswith("James Quincey, Chairman and CEO · questions")


def test_an_overlong_sentence_is_cut_between_words_and_chinese_behind_its_marks() -> None:
    draft = Draft()
    draft.add(ElementKind.PARAGRAPH, "endless " * 600)
    draft.add(ElementKind.PARAGRAPH, "本公司在本季度的营业收入较去年同期增长，" * 30 + "毛利率保持稳定。" * 30)
    document = draft.document()
    fragments = cut(document)
    assert first_gap(document, fragments) is None
    assert all(fragment.tokens <= WINDOW for fragment in fragments)
    assert all(f.text.startswith("endless") for f in fragments if "endless" in f.text)
    assert all(f.text[-1] in "，。" for f in fragments if "营" in f.text or "毛" in f.text)


def test_a_word_longer_than_the_window_is_cut_inside() -> None:
    draft = Draft()
    draft.add(ElementKind.PARAGRAPH, "1.2,3;" * 400)
    document = draft.document()
    fragments = cut(document)
    assert len(fragments) > 5 and first_gap(document, fragments) is None
    assert all(fragment.tokens <= WINDOW for fragment in fragments)


def test_documents_without_text_or_of_furniture_alone_have_no_fragments() -> None:
    assert cut(Draft().document()) == ()
    draft = Draft()
    draft.add(ElementKind.CONTENTS, "Item 1 Business 4")
    assert cut(draft.document()) == ()


def test_a_document_of_unknown_identity_still_has_fragments_that_say_so() -> None:
    draft = Draft()
    draft.add(ElementKind.PARAGRAPH, "Something happened.")
    (fragment,) = cut(draft.document(Identity(title="Note on sugar prices")))
    assert (fragment.company, fragment.form, fragment.period) == ("unknown", "unknown", None)
    assert fragment.context == "Note on sugar prices"


def test_the_same_document_gives_the_same_fragments_and_the_same_bytes(tmp_path) -> None:
    draft = Draft()
    draft.add(ElementKind.PARAGRAPH, PROSE * 8)
    one, other = cut(draft.document()), cut(draft.document())
    assert one == other
    write_fragments(tmp_path / "one.parquet", one)
    write_fragments(tmp_path / "other.parquet", other)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()
    assert read_fragments(tmp_path / "one.parquet") == one


def test_reading_fragments_that_are_not_there_says_what_to_do(tmp_path) -> None:
    with pytest.raises(StoreError, match="chunk the source again"):
        read_fragments(tmp_path / "absent.parquet")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Acme Inc. sold 3.5 million units. We expect more.", 2),
        ("The U.S. market grew. In the U.S. The Company leads.", 3),
        ("See Note No. 5 to the statements. Mr. J. P. Quincey agreed.", 2),
        ("Is it so? Yes! It is.", 3),
        ("1. Revenue rose by 5%. 2. Costs fell.", 2),
        ("wrapped\nlines are one sentence.", 1),
        ("one paragraph\n\nanother", 2),
        ("收入增长了。毛利率稳定！为什么？", 3),
        ("He said “we grew.” Then he left.", 2),
        ("", 0),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, count: int) -> None:
    assert len(sentences(text)) == count, [text[a:b] for a, b in sentences(text)]


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab Z1.,;!?\n\t 。，中文-()$%é"), max_size=600))
def test_whatever_the_text_nothing_is_lost_doubled_or_too_long(text: str) -> None:
    document = ParsedDocument(text, Kind.TEXT, "test/1", IDENTITY, ())
    fragments = cut(document)
    assert "".join("".join(f.text.split()) for f in fragments) == "".join(text.split())
    assert all(before.end <= after.start for before, after in itertools.pairwise(fragments))
    assert all(f.tokens <= WINDOW for f in fragments)


@given(st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_counting_word_by_word_equals_encoding_the_text(text: str) -> None:
    printable = "".join(ch for ch in text if ch.isprintable() or ch in " \n\t")
    assert minilm_counter().count(printable) == real_tokens(printable) - SPECIAL_TOKENS


def test_real_filings_are_covered_within_the_window(corpus) -> None:
    from finrag_pipelines.parsing.parse import parse

    path = corpus / "sec" / "8-K_BUCKLE_EX-99.1.htm"
    document = parse(path.read_bytes(), path.name)
    fragments = cut(document)
    assert first_gap(document, fragments) is None
    assert all(fragment.tokens <= WINDOW for fragment in fragments)


def test_cutting_keeps_to_the_time_budget_of_the_document() -> None:
    draft = Draft()
    draft.add(ElementKind.PARAGRAPH, "收入。" * 20_000)
    with pytest.raises(UnreadableError, match="cutting into fragments") as refused:
        chunk(draft.document(), "s", 1, "0" * 64, "0" * 64, Deadline(seconds=0.01))
    assert refused.value.code == "time_budget"
