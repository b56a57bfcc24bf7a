"""Any sentence-transformers model, by folder or by name, pinned by a digest over its files."""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipelines.embedding.model import EmbeddingError, Progress
from finrag_pipelines.embedding.threads import embed_each
from finrag_pipelines.storage import digest, sha256_bytes

DOWNLOAD_VARIABLE = "FINRAG_ALLOW_DOWNLOAD"
"""Environment variable: 1 lets a model that is not on this machine be fetched from its hub."""


def model_folder(spec: str) -> Path:
    """Return the folder of the model `spec`: a folder as it is, a hub name from the local cache.

    Raises EmbeddingError where there is no such model and downloading is not allowed.
    """
    folder = Path(spec).expanduser()
    if folder.is_dir():
        return folder.resolve()
    from huggingface_hub import snapshot_download

    allowed = os.environ.get(DOWNLOAD_VARIABLE) == "1"
    try:
        return Path(snapshot_download(spec, local_files_only=not allowed))
    except Exception as error:  # the hub's client raises many kinds; all mean the same here
        raise EmbeddingError(
            f"embedding model {spec!r} is neither a folder nor in the local model cache; give the path of a folder, "
            f"or set {DOWNLOAD_VARIABLE}=1 to fetch it ({type(error).__name__}: {str(error).splitlines()[0]})"
        ) from error


class SentenceTransformerEmbedder:
    """A model that sentence-transformers can load, in fp32 on the CPU, vectors scaled to unit length."""

    def __init__(self, spec: str) -> None:
        self.name = spec
        self._folder = model_folder(spec)

    @property
    def model_digest(self) -> str:
        """Stands for the names and bytes of all files of the model but its readme."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        files = sorted(
            path
            for path in self._folder.rglob("*")
            if path.is_file()
            and path.name != "README.md"
            and not any(part.startswith(".") for part in path.relative_to(self._folder).parts)
        )
        content = [[path.relative_to(self._folder).as_posix(), sha256_bytes(path.read_bytes())] for path in files]
        return digest(["sentence-transformers", content])

    @property
    def dimensions(self) -> int:
        """The length of a vector, as the model states it."""
        return int(self._model.get_embedding_dimension())

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)
        except Exception as error:
            raise EmbeddingError(
                f"{self._folder} does not load as a sentence-transformers model: {type(error).__name__}: {error}"
            ) from error

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return one vector a text; text past the model's window is not seen."""
        model = self._model
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        features = [model.preprocess([text]) for text in texts]
        return embed_each(lambda one: _forward(model, one), features, self.dimensions, progress)


def _forward(model: Any, features: dict[str, Any]) -> np.ndarray:
    import torch

    with torch.inference_mode():
        vector = model(dict(features))["sentence_embedding"][0].float()
        return torch.nn.functional.normalize(vector, dim=0).numpy()
