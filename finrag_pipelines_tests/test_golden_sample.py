"""Identity, sections and fragments of the sample corpus are what they were: a change of any of them is deliberate.

Renew the file with `FINRAG_RENEW_GOLDEN=1 .venv/bin/python -m pytest finrag_pipelines_tests/test_golden_sample.py`,
read its difference, and say in the commit why it changed.
"""

import json
import os
from pathlib import Path

from finrag_pipelines.chunking.chunk import CHUNKER, chunk
from finrag_pipelines.parsing.parse import PARSER, Overrides, parse
from finrag_pipelines.storage import digest

GOLDEN = Path(__file__).with_name("golden_sample.json")
FIELDS = ("company", "company_name", "form", "period", "period_end", "filed", "title", "subjects")


def outcome(path: Path) -> dict[str, object]:
    """What parsing and chunking make of one file of the sample corpus, short enough to be read in a difference."""
    sidecar = Path(f"{path}.meta.json")
    stated = json.loads(sidecar.read_text("utf-8")) if sidecar.is_file() else {}
    overrides = Overrides.from_record({name: value for name, value in stated.items() if name in FIELDS})
    document = parse(path.read_bytes(), path.name, overrides)
    identity = document.identity
    content = digest(path.read_bytes().hex())
    fragments = chunk(document, path.name, 1, content, digest(document.text))
    return {
        "identity": [identity.company, identity.form, identity.period, identity.period_end, identity.filed],
        "text": digest(document.text)[:16],
        "sections": [f"{s.key} [{s.start}, {s.end})" for s in document.sections],
        "turns": [f"{t.speaker}, {t.role}, {t.part} [{t.start}, {t.end})" for t in document.turns],
        "tables": digest([[t.start, t.end, len(t.rows), t.caption, t.units] for t in document.tables])[:16],
        "fragments": len(fragments),
        "fragment_hash": digest([[f.start, f.end, f.context, list(f.periods), f.section] for f in fragments])[:16],
    }


def test_the_sample_corpus_is_read_as_it_was(sample: Path) -> None:
    files = sorted(path for path in sample.iterdir() if not path.name.endswith(".json"))
    found = {"parser": PARSER, "chunker": CHUNKER, "documents": {path.name: outcome(path) for path in files}}
    if os.environ.get("FINRAG_RENEW_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    golden = json.loads(GOLDEN.read_text("utf-8"))
    changed = [
        f"{name}: {field} was {golden['documents'].get(name, {}).get(field)}, is {value}"
        for name, document in found["documents"].items()
        for field, value in document.items()
        if golden["documents"].get(name, {}).get(field) != value
    ]
    gone = sorted(set(golden["documents"]) - set(found["documents"]))
    renew = (
        "\nIf this is meant, raise PARSER or CHUNKER where they are released, and renew the file: "
        "FINRAG_RENEW_GOLDEN=1 .venv/bin/python -m pytest finrag_pipelines_tests/test_golden_sample.py"
    )
    assert not changed and not gone, "\n".join([*changed, *(f"{name}: no longer there" for name in gone), renew])
    assert (golden["parser"], golden["chunker"]) == (PARSER, CHUNKER), renew
