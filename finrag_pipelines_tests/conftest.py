"""Shared fixtures: an empty store, the sample corpus, and the real corpus where it is present."""

from pathlib import Path

import pytest

from finrag_pipelines.storage import Store

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store in a folder of its own."""
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def sample() -> Path:
    """The folder of the synthetic sample corpus."""
    return ROOT / "data" / "sample"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real filings beside the checkout; tests that need it are skipped where it is absent."""
    if not CORPUS.is_dir():
        pytest.skip(f"no real filings at {CORPUS}: this test reads them where they are present")
    return CORPUS
