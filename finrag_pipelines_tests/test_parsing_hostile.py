"""Documents made to hurt end in text that reads back or in a clear error, in bounded time and memory."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from finrag_pipelines.chunking.checks import first_gap
from finrag_pipelines.chunking.chunk import chunk
from finrag_pipelines.parsing.checks import ranges_read_back, text_is_covered
from finrag_pipelines.parsing.model import ParsedDocument, UnreadableError
from finrag_pipelines.parsing.parse import Overrides, parse
from finrag_pipelines.parsing.readers.limits import Deadline, allowed_seconds

HEAD = "<html><body><h1>ACME INC. FORM 10-K</h1>"
MEMO = Overrides(company="ACME", form="memo")


def raw_pdf(pages: int, lines: int = 40, cyclic_outline: bool = False) -> bytes:
    """A PDF in raw syntax; its outline entries may be each other's children and successors."""
    objects = ["", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for page in range(pages):
        drawn = " ".join(f"0 -14 Td (Net sales of segment {page} were 1,234 and 5,{k:03}) Tj" for k in range(lines))
        stream = f"BT /F1 10 Tf 50 780 Td {drawn} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 800] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    outline = ""
    if cyclic_outline:
        at = len(objects) + 1
        outline = f" /Outlines {at} 0 R"
        objects += [
            f"<< /Type /Outlines /First {at + 1} 0 R /Last {at + 2} 0 R /Count 2 >>",
            f"<< /Title (A) /Parent {at} 0 R /Next {at + 2} 0 R /First {at + 1} 0 R >>",
            f"<< /Title (B) /Parent {at + 1} 0 R /Next {at + 1} 0 R /First {at} 0 R >>",
        ]
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R{outline} >>"
    objects[1] = f"<< /Type /Pages /Count {pages} /Kids [{' '.join(kids)}] >>"
    parts, offsets = [b"%PDF-1.4\n"], []
    position = len(parts[0])
    for number, body in enumerate(objects, 1):
        offsets.append(position)
        parts.append(f"{number} 0 obj\n{body}\nendobj\n".encode())
        position += len(parts[-1])
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{position}\n%%EOF"
    return b"".join([*parts, end.encode()])


def entity_bomb() -> bytes:
    entities = '<!ENTITY a0 "aaaaaaaaaa">'
    entities += "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    return f'<?xml version="1.0"?><!DOCTYPE html [{entities}]>{HEAD}<p>&a11;</p></body></html>'.encode()


SMALL: dict[str, Callable[[], bytes]] = {
    "tables_in_tables": lambda: (HEAD + "<table><tr><td>a</td><td>" * 400 + "x" + "</td></tr></table>" * 400).encode(),
    "spans_beyond_all_columns": lambda: (
        HEAD + "<table><tr>" + "<td colspan=1000 rowspan=60000>1</td>" * 40 + "</tr><tr><td>1</td></tr></table>"
    ).encode(),
    "entity_bomb": entity_bomb,
    "scripts": lambda: (HEAD + "<script>while(1){'<p>x</p>'}</script>" * 2000 + "<p>The end.</p>").encode(),
    "nul_bytes": lambda: b"ACME Corp sells 1\x002 things in all of its stores.\n" * 2000,
    "cyclic_outline": lambda: raw_pdf(3, cyclic_outline=True),
    "pages_that_hold_themselves": lambda: raw_pdf(2).replace(b"/Kids [5 0 R", b"/Kids [2 0 R"),
    "equal_short_lines": lambda: b"X: y\n" * 20_000,
    "one_word": lambda: b"(" * 30_000,
    "dots": lambda: b". " * 60_000,
    "half_a_surrogate_pair": lambda: json.dumps(
        {
            "company": "ACME",
            "transcript": [{"speaker": "Ann Lee", "text": "bad \ud800"}, {"speaker": "Bo", "text": "x"}],
        }
    ).encode(),
}


def check_whole(document: ParsedDocument) -> None:
    """Ranges read back, nothing lies between elements, and every character is in a fragment that has room for it."""
    document.text.encode()
    assert [*ranges_read_back(document), *text_is_covered(document)] == []
    fragments = chunk(document, "x", 1, "0" * 64, "0" * 64)
    assert first_gap(document, fragments) is None
    assert max((fragment.tokens for fragment in fragments), default=0) <= 256


@pytest.mark.parametrize("name", SMALL)
def test_hostile_documents_become_text_that_reads_back(name: str) -> None:
    check_whole(parse(SMALL[name](), overrides=MEMO))


def test_entities_of_a_bomb_are_not_expanded_and_scripts_are_no_text() -> None:
    assert len(parse(entity_bomb(), overrides=MEMO).text) < 1000
    assert "while" not in parse(SMALL["scripts"](), overrides=MEMO).text


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<p>x</p>" * 9_000_000, "too_large"),
        ((HEAD + "<p>Revenue grew.</p>" * 710_000).encode(), "too_large"),
        ((HEAD + "<div>" * 5000 + "x").encode(), "too_deep"),
        (b"\x00" * 200_000, "empty_file|unknown_binary"),
        (b"[" * 200_000, "json_no_transcript|damaged_json"),
        (b"The company sold more of it.\n" * 800_000, "text_too_large"),
    ],
)
def test_what_is_beyond_the_limits_is_refused_with_a_code(content: bytes, code: str) -> None:
    with pytest.raises(UnreadableError) as refused:
        parse(content, overrides=MEMO)
    assert refused.value.code in code.split("|")
    assert len(str(refused.value)) > 40


def test_the_time_budget_stops_every_kind_of_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINRAG_PARSE_SECONDS", "0.000001")
    for content in (b"Words of a memo.\n" * 100, (HEAD + "<p>x y</p>" * 100).encode(), raw_pdf(2), b"# A\n\n## B\n\nx"):
        with pytest.raises(UnreadableError) as stopped:
            parse(content, overrides=MEMO)
        assert stopped.value.code == "time_budget"
        assert "FINRAG_PARSE_SECONDS" in str(stopped.value)


@pytest.mark.parametrize("stated", ["soon", "-1", "0", "nan"])
def test_a_time_budget_that_is_no_positive_number_is_an_error(monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    monkeypatch.setenv("FINRAG_PARSE_SECONDS", stated)
    with pytest.raises(ValueError, match="FINRAG_PARSE_SECONDS"):
        allowed_seconds()


def test_the_time_budget_is_120_seconds_unless_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FINRAG_PARSE_SECONDS", raising=False)
    assert Deadline().seconds == 120
    monkeypatch.setenv("FINRAG_PARSE_SECONDS", "7.5")
    assert Deadline().seconds == 7.5


MEASURE = """
import resource, sys, time
from finrag_pipelines_tests.test_parsing_hostile import HUGE, MEMO, check_whole
from finrag_pipelines.parsing.model import UnreadableError
from finrag_pipelines.parsing.parse import parse
content = HUGE[sys.argv[1]]()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
used = time.process_time()
try:
    check_whole(parse(content, overrides=MEMO))
    code = "read"
except UnreadableError as error:
    code = error.code
print(code, time.process_time() - used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, before)
"""

HUGE: dict[str, Callable[[], bytes]] = {
    "html_of_200_mb": lambda: (HEAD + "<p>Revenue grew in the quarter by 5 percent.</p>" * 4_200_000).encode(),
    "html_of_60_mb": lambda: (HEAD + ("<p>" + "Revenue grew by 5 percent. " * 300 + "</p>") * 7000).encode(),
    "one_table_of_100000_rows": lambda: (
        HEAD + "<table>" + "<tr><td>Revenue</td><td>1,234</td></tr>" * 100_000 + "</table>"
    ).encode(),
    "pdf_of_5000_pages": lambda: raw_pdf(5000),
    "pdf_of_3900_pages": lambda: raw_pdf(3900, lines=20),
    "text_of_100_mb": lambda: b"The company grew by 5 percent in the year and sold more of it.\n" * 1_600_000,
    "text_of_15_mb": lambda: b"The company grew by 5 percent in the year and sold more of it.\n" * 240_000,
    "rows_of_figures": lambda: b"Revenue from sales      1,234     5,678     9,012\n" * 60_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
def test_huge_documents_take_bounded_time_and_less_than_a_gigabyte(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE, name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    code, seconds, peak, before = done.stdout.split()
    print(f"{name}: {code}, {float(seconds):.0f} s, {float(peak):.0f} MB")
    assert code in ("read", "too_large", "text_too_large", "pdf_too_many_pages", "time_budget")
    assert float(seconds) < 240
    assert float(peak) < 1024 + (float(before) if float(before) > 400 else 0)
