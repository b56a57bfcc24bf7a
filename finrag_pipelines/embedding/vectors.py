"""The vectors of a source's fragments, kept by model digest and text hash: what was embedded once is read back."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.embedding.model import Embedder, Progress
from finrag_pipelines.storage import Store, digest, sha256_text, write_file

FOLDER = "embeddings"


@dataclass(frozen=True)
class FragmentVectors:
    """Row i of `matrix` (float32) is the vector of fragment `fragment_ids[i]`, whose embedded text hashes to
    `text_sha256[i]`. `embedded` counts the texts that had to be embedded, the others came from the store."""

    fragment_ids: tuple[str, ...]
    text_sha256: tuple[str, ...]
    matrix: np.ndarray
    embedded: int


def embed_fragments(
    store: Store, embedder: Embedder, fragments: Sequence[Fragment], source_id: str, progress: Progress | None = None
) -> FragmentVectors:
    """Return the vectors of `fragments`, all of source `source_id`, in the given order.

    Kept in `embeddings/<model digest>/<source_id>/`, one file for each set of texts, so that a new version of a
    filing embeds only what changed.
    """
    hashes = _hashes(fragments)
    texts = {name: fragment.embedded_text for name, fragment in zip(hashes, fragments, strict=True)}
    wanted = sorted(texts)
    path = vectors_path(store, embedder.model_digest, source_id, text_set_id(fragments))
    known = _read(path, embedder.dimensions)
    missing = [name for name in wanted if name not in known]
    if missing:
        for other in _other_files(path.parent, path):
            known.update(_read(other, embedder.dimensions))
        missing = [name for name in wanted if name not in known]
        if missing:
            known.update(zip(missing, embedder.embed([texts[name] for name in missing], progress), strict=True))
        _write(path, wanted, np.stack([known[name] for name in wanted]))
    matrix = np.stack([known[name] for name in hashes]) if hashes else np.empty((0, embedder.dimensions), np.float32)
    return FragmentVectors(tuple(fragment.fragment_id for fragment in fragments), hashes, matrix, len(missing))


def text_set_id(fragments: Sequence[Fragment]) -> str:
    """Return the hash of the set of texts that are embedded for `fragments`."""
    return digest(sorted(set(_hashes(fragments))))


def vectors_path(store: Store, model_digest: str, source_id: str, text_set: str) -> Path:
    """Return where the vectors of a set of texts of a source lie."""
    return store.path(FOLDER, model_digest, source_id, f"{text_set}.parquet")


def _hashes(fragments: Sequence[Fragment]) -> tuple[str, ...]:
    return tuple(sha256_text(fragment.embedded_text) for fragment in fragments)


def _other_files(folder: Path, path: Path) -> Iterator[Path]:
    return (other for other in sorted(folder.glob("*.parquet")) if other != path)


def _read(path: Path, dimensions: int) -> dict[str, np.ndarray]:
    """Return hash and vector of each row of `path`; nothing where the file is absent, torn or of another width,
    because vectors can always be made again."""
    try:
        table = pq.read_table(pa.BufferReader(path.read_bytes()))
        vectors = table["vector"].combine_chunks().flatten().to_numpy().reshape(-1, dimensions)
        return dict(zip(table["text_sha256"].to_pylist(), vectors, strict=True))
    except (FileNotFoundError, pa.ArrowInvalid, KeyError, ValueError):
        return {}


def _write(path: Path, hashes: list[str], matrix: np.ndarray) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1), pa.float32()), matrix.shape[1])
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text_sha256": pa.array(hashes), "vector": vectors}), buffer, compression="zstd")
    write_file(path, buffer.getvalue())
