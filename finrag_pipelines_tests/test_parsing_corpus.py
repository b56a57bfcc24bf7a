"""Every real document that can be read passes the blocking checks and loses no character; the rest is refused."""

import time
from pathlib import Path

import pytest

from finrag_pipelines.chunking.checks import first_gap
from finrag_pipelines.chunking.chunk import chunk
from finrag_pipelines.parsing.checks import blocking_problems
from finrag_pipelines.parsing.model import UnreadableError
from finrag_pipelines.parsing.parse import parse

SECONDS = 30  # of processor time, many times what the largest of them takes


@pytest.mark.slow
def test_every_document_is_read_whole_or_refused_with_a_code(corpus: Path) -> None:
    faults: list[str] = []
    read = refused = 0
    for path in sorted(path for path in corpus.rglob("*") if path.is_file()):
        name = str(path.relative_to(corpus))
        started = time.process_time()
        try:
            document = parse(path.read_bytes(), path.name)
            fragments = chunk(document, name, 1, "0" * 64, "0" * 64)
        except UnreadableError as error:
            refused += 1
            if not error.code.replace("_", "").isalnum() or len(str(error)) < 40:
                faults.append(f"{name}: refused without a clear reason: {error.code}: {error}")
            continue
        except Exception as error:
            faults.append(f"{name}: {type(error).__name__}: {error}")
            continue
        read += 1
        faults += [f"{name}: {problem.message}" for problem in blocking_problems(document)]
        if gap := first_gap(document, fragments):
            faults.append(f"{name}: characters {gap} lie in no fragment")
        if any(fragment.tokens > 256 for fragment in fragments):
            faults.append(f"{name}: a fragment is longer than the window of the model")
        if (spent := time.process_time() - started) > SECONDS:
            faults.append(f"{name}: took {spent:.0f} s")
    print(f"{read} documents read, {refused} refused")
    assert faults == []
    assert read > 100


@pytest.mark.slow
def test_pages_of_servers_and_filing_indexes_are_no_documents(corpus: Path) -> None:
    for path in sorted((corpus / "edgar_api").glob("*.htm*")):
        with pytest.raises(UnreadableError):
            parse(path.read_bytes(), path.name)
