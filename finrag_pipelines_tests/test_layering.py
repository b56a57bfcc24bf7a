"""The layout tells the story: data flows one way through the stages, and only defs/ knows Dagster."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "finrag_pipelines"
# A document has to be read to know which source it is, so ingestion comes after parsing.
STAGES = (
    "storage",
    "catalog",
    "parsing",
    "ingestion",
    "chunking",
    "embedding",
    "indexing",
    "retrieval",
    "evidence",
    "answering",
    "evaluation",
    "lifecycle",
)


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_imports_earlier_stages_only_and_never_dagster(stage: str) -> None:
    allowed = set(STAGES[: STAGES.index(stage) + 1])
    for path in sorted((PACKAGE / stage).rglob("*.py")):
        for name in _imports(path):
            assert name.split(".")[0] != "dagster", f"{path} imports {name}"
            if name.startswith("finrag_pipelines."):
                assert name.split(".")[1] in allowed, f"{path} imports {name}, which comes later"


def test_every_folder_of_the_package_is_a_stage_or_the_dagster_layer() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*STAGES, "defs"}


def test_decorated_functions_keep_their_annotations() -> None:
    for path in sorted((PACKAGE / "defs").glob("*.py")):
        assert "__future__" not in _imports(path), f"{path}: Dagster reads annotations of decorated functions"


def test_importing_the_code_location_loads_no_heavy_module() -> None:
    code = (
        "import sys, finrag_pipelines.definitions;"
        "print(sorted({m.split('.')[0] for m in sys.modules}"
        " & {'torch', 'unstructured', 'lancedb', 'sentence_transformers', 'transformers', 'ragas', 'tantivy'}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert loaded.stdout.strip() == "[]"
