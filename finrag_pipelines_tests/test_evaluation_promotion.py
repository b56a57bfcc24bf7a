"""Promotion: an index with planted damage is stopped by a figure that names the stage; rollback; a sound one passes."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evaluation.configurations import read_configuration
from finrag_pipelines.evaluation.gold import GoldResolver
from finrag_pipelines.evaluation.promotion import GUARDS, roll_back, try_promotion
from finrag_pipelines.evaluation.run import evaluate
from finrag_pipelines.evaluation.sets import EvalSet, read_set
from finrag_pipelines.indexing.publication import current_version, promote
from finrag_pipelines.storage import Store, StoreError, sha256_text
from finrag_pipelines_tests.answering_store import sample_store

ROOT = Path(__file__).resolve().parents[1]


class Shuffled:
    """An embedder whose vectors have nothing to do with the texts."""

    name = "shuffled"
    model_digest = sha256_text("shuffled")
    dimensions = 64

    def embed(self, texts: Sequence[str], progress: object = None) -> np.ndarray:
        seeds = [int(sha256_text(text)[:8], 16) for text in texts]
        drawn = np.array([np.random.default_rng(seed).normal(size=self.dimensions) for seed in seeds])
        return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def own(tmp_path: Path) -> Store:
    shutil.copytree(sample_store().root, tmp_path / "store")
    return Store(tmp_path / "store")


def _set(store: Store) -> EvalSet:
    held = GoldResolver(store).catalog.sources
    rows = read_set(ROOT / "eval_sets" / "consumer_staples.jsonl").questions
    chosen = [one for one in rows if one.gold and all(gold.source_id in held for gold in one.gold)]
    return EvalSet("guarded", "of-the-test", tuple(chosen))


def test_shuffled_embeddings_are_stopped_by_a_figure_that_names_the_stage_and_a_promotion_is_rolled_back(
    own: Store,
) -> None:
    sound, embedder, damaged = current_version(own), open_embedder("hashing"), Shuffled()
    assert sound is not None
    eval_set = _set(own)
    full = read_configuration(ROOT / "eval_configs" / "full.toml")
    evaluate(own, eval_set, full, embedder, sound, with_ragas=False)
    assert "already" in try_promotion(own, sound, [eval_set], embedder).reason
    for source_id in sorted(read_catalog(own).sources):
        pipeline.embed(own, source_id, damaged)
    pipeline.build_manifest(own)
    planted = pipeline.publish_index(own, damaged).index_version
    promote(own, sound)
    verdict = try_promotion(own, planted, [eval_set], damaged)
    assert not verdict.promoted and current_version(own) == sound
    assert verdict.falls[0].figure == "vector_recall@10"
    assert verdict.falls[0].stage.startswith("embedding")
    assert "vector_recall@10 fell from" in str(verdict)
    assert try_promotion(own, planted, [eval_set], damaged, force=True).promoted
    assert current_version(own) == planted
    assert roll_back(own) == sound == current_version(own)


def test_there_is_nothing_to_roll_back_to_in_a_new_store(store: Store) -> None:
    with pytest.raises(StoreError, match="nothing to go back to"):
        roll_back(store)


def test_each_guard_names_a_stage() -> None:
    assert all(": " in one.stage and one.tolerance >= 0 for one in GUARDS)
