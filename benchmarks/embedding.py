"""Embedding: fragments/s of the plain sentence-transformers call beside ours, and whether the bits repeat.

Prints a table and writes .bench/embedding.json. Texts are fragments of a real filing where the corpus is present, else
of the sample corpus. Run with `make bench-embedding`; `--fragments N` and `--rounds N` change its size.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus" / "financebench" / "pdfs"
COLD = {
    "ours": "from finrag_pipelines.embedding.minilm import MiniLMEmbedder; MiniLMEmbedder({precision!r}).embed(['a'])",
    "sentence-transformers": (
        "from sentence_transformers import SentenceTransformer; "
        "from finrag_pipelines.chunking.tokens import minilm_folder; "
        "SentenceTransformer(str(minilm_folder()), device='cpu').encode(['a'])"
    ),
}


def texts_of_filings(count: int) -> list[str]:
    """Return the embedded texts of `count` fragments, repeated where the filings hold fewer."""
    from finrag_pipelines.chunking.chunk import chunk
    from finrag_pipelines.parsing.parse import parse

    paths = sorted(CORPUS.glob("COCACOLA_2017_10K.pdf")) or sorted((ROOT / "data" / "sample").glob("*.pdf"))
    texts: list[str] = []
    for path in paths:
        fragments = chunk(parse(path.read_bytes(), path.name), "bench", 1, "0" * 64, "0" * 64)
        texts.extend(fragment.embedded_text for fragment in fragments)
        if len(texts) >= count:
            break
    start = max(0, (len(texts) - count) // 2)  # the middle of the filing: prose and tables as they come
    return (texts[start:] * (count // max(1, len(texts)) + 1))[:count]


def seconds(work: Callable[[], np.ndarray], rounds: int) -> tuple[float, np.ndarray]:
    """Return the median time of `rounds` runs, and what the last one gave."""
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def cold_start(code: str) -> float:
    """Return the seconds that a new process needs to import, load and embed one word."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fragments", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()

    import torch
    from sentence_transformers import SentenceTransformer

    from finrag_pipelines.chunking.tokens import minilm_counter, minilm_folder
    from finrag_pipelines.embedding.minilm import MiniLMEmbedder, native_precision

    texts = texts_of_filings(arguments.fragments)
    plain = SentenceTransformer(str(minilm_folder()), device="cpu")
    ways: dict[str, Callable[[list[str]], np.ndarray]] = {
        "sentence-transformers fp32": lambda some: plain.encode(some, normalize_embeddings=True),
        "ours fp32": MiniLMEmbedder("fp32").embed,
    }
    if native_precision() == "bf16":
        half = SentenceTransformer(str(minilm_folder()), device="cpu", model_kwargs={"dtype": torch.bfloat16})
        ways["sentence-transformers bf16"] = lambda some: half.encode(
            some, normalize_embeddings=True, convert_to_tensor=True
        ).float().numpy()  # fmt: skip
        ways["ours bf16"] = MiniLMEmbedder("bf16").embed
    rows: dict[str, dict[str, float | bool]] = {}
    reference: np.ndarray | None = None
    for name, embed in ways.items():
        embed(texts[:8])
        elapsed, vectors = seconds(lambda embed=embed: embed(texts), arguments.rounds)
        reference = vectors if reference is None else reference
        alone = np.concatenate([embed([text]) for text in texts[:16]])
        rows[name] = {
            "fragments_per_s": round(len(texts) / elapsed, 1),
            "same_bits_alone": bool(np.array_equal(alone, vectors[:16])),
            "lowest_cosine_to_plain": round(float((vectors * reference).sum(axis=1).min()), 6),
        }
    base = float(rows["sentence-transformers fp32"]["fragments_per_s"])
    for row in rows.values():
        row["ratio_to_plain"] = round(float(row["fragments_per_s"]) / base, 2)
    cold = {name: round(cold_start(code.format(precision=native_precision())), 2) for name, code in COLD.items()}
    report = {
        "fragments": len(texts),
        "mean_tokens": round(statistics.mean(minilm_counter().counts(texts)), 1),
        "threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 2),
        "ways": rows,
        "cold_start_s": cold,
    }
    print(f"{len(texts)} fragments of {report['mean_tokens']} tokens, {report['threads']} threads, ", end="")
    print(f"load {report['load_average']}")
    print(f"{'':28}{'fragments/s':>12}{'ratio':>8}{'bits repeat':>13}{'lowest cosine':>15}")
    for name, row in rows.items():
        print(
            f"{name:28}{row['fragments_per_s']:>12}{row['ratio_to_plain']:>8}"
            f"{'yes' if row['same_bits_alone'] else 'no':>13}{row['lowest_cosine_to_plain']:>15}"
        )
    print("cold start: " + ", ".join(f"{name} {value} s" for name, value in cold.items()))
    folder = ROOT / ".bench"
    folder.mkdir(exist_ok=True)
    (folder / "embedding.json").write_text(json.dumps(report, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
