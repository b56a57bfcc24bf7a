"""What does one new filing cost, publish included, when 10,000 fragments are indexed, and when 100,000 are?

Each store holds companies of ten filings of a hundred fragments each, with random unit vectors of MiniLM's width, made
without parsing. Then filings arrive one by one and go the whole way: received, parsed, cut, embedded (by hashing their
text), put into the manifest, indexed, published, recorded, mirrored. Run with `make bench-increment`; a bar says how
much more the large store may cost.
"""

import argparse
import json
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from finrag_pipelines import pipeline
from finrag_pipelines.catalog.catalog import change_catalog
from finrag_pipelines.catalog.identity import Identity
from finrag_pipelines.chunking.files import write_fragments
from finrag_pipelines.chunking.model import Fragment, fragment_id
from finrag_pipelines.embedding.model import Progress
from finrag_pipelines.embedding.vectors import text_set_id
from finrag_pipelines.indexing.build import fragment_set_id
from finrag_pipelines.ingestion.receive import receive_content
from finrag_pipelines.parsing.parse import PARSER, Overrides
from finrag_pipelines.storage import Store, canonical_json, digest, sha256_text, write_file

ROOT = Path(__file__).resolve().parents[1]
SIZES = (10_000, 30_000, 100_000)
BAR = 1.3
WIDTH = 384
FILINGS, FRAGMENTS, WORDS = 10, 100, 60
STEPS = ("receive", "register", "parse", "cut", "embed", "manifest", "publish")


class RandomUnitVectors:
    """An embedder whose vectors depend on the text's length and hash alone, and mean nothing: it costs next to nothing,
    so that nothing else hides behind it."""

    name = "random"
    dimensions = WIDTH
    model_digest = digest(["random unit vectors of a pool", WIDTH])
    _pool = np.random.default_rng(7).standard_normal((4096, WIDTH)).astype(np.float32)
    _pool /= np.linalg.norm(_pool, axis=1, keepdims=True)

    def embed(self, texts: list[str], progress: Progress | None = None) -> np.ndarray:
        """Return one unit vector a text."""
        places = [int(sha256_text(text)[:8], 16) % len(self._pool) for text in texts]
        return self._pool[places] if places else np.empty((0, WIDTH), np.float32)


def vocabulary() -> list[str]:
    """Return some thousand invented words."""
    rng = random.Random(3)
    syllables = ["ba", "du", "fe", "gi", "ko", "lu", "ma", "ni", "po", "ru", "se", "ta", "vo", "wi", "xa", "zu"]
    return sorted({"".join(rng.choice(syllables) for _ in range(rng.randint(2, 4))) for _ in range(6000)})


VOCABULARY = vocabulary()


def words(rng: random.Random, count: int = WORDS) -> str:
    """Return text of so many words, the first ones of the vocabulary being the most frequent."""
    return " ".join(VOCABULARY[min(len(VOCABULARY), int(rng.paretovariate(0.6))) - 1] for _ in range(count))


def base_store(store: Store, fragments: int) -> None:
    """Fill `store` with so many fragments, register and publish them."""
    numbers = range(fragments // FRAGMENTS)
    for start in range(0, len(numbers), 200):
        events = [event for n in numbers[start : start + 200] for event in filing_events(store, n)]
        change_catalog(store, lambda catalog, events=events: events)
    pipeline.build_manifest(store)
    pipeline.publish_index(store, RandomUnitVectors())


def filing_events(store: Store, number: int) -> Iterator[dict]:
    """Write the fragments and vectors of a made filing and yield the events that make the catalog know it."""
    company, quarter = f"CO{number // FILINGS:04}", f"{2016 + number % FILINGS}Q3"
    source_id, content = f"{company}_10-Q_{quarter}", sha256_text(f"filing {number}")
    identity = Identity(
        company=company, company_name=company, form="10-Q", period=quarter, filed=f"{quarter[:4]}-11-01"
    )
    named = {"source_id": source_id, "content_sha256": content}
    yield {
        "type": "received",
        **named,
        "file_name": f"{source_id}.htm",
        "origin": f"/made/{source_id}.htm",
        "labels": ["public"],
        "identity": asdict(identity),
        "overrides": {},
    }
    yield {"type": "version_registered", **named, "version": 1}
    yield {"type": "parsed", **named, "version": 1, "representation_id": content, "parser": PARSER}
    rng = random.Random(number)
    made = [made_fragment(rng, source_id, content, company, quarter, place) for place in range(FRAGMENTS)]
    path = store.path("fragments", source_id, f"{digest([content, pipeline.CHUNKER, 1])[:32]}.parquet")
    write_fragments(path, made)
    summary = pipeline.FragmentSet(fragment_set_id(made), text_set_id(made), len(made))
    write_file(path.with_suffix(".json"), canonical_json(asdict(summary)))


def made_fragment(rng: random.Random, source_id: str, content: str, company: str, quarter: str, place: int) -> Fragment:
    """Return one fragment of a made filing."""
    text, start = words(rng), place * 1000
    section = ("Part I Item 1", "Part I Item 2", "Part II Item 1A")[place % 3]
    return Fragment(
        fragment_id=fragment_id(source_id, content, content, start, start + len(text)),
        source_id=source_id, version=1, content_sha256=content, representation_id=content,
        representation_type="native_text", start=start, end=start + len(text), text=text,
        context=f"{company} · 10-Q · {quarter} · {section}", company=company, form="10-Q", period=quarter,
        filed=f"{quarter[:4]}-11-01", periods=(quarter,), section=section, section_title=None, speaker=None, role=None,
        firm=None, part=None, page_index=None, page_label=None, tokens=WORDS,
    )  # fmt: skip


def report(number: int) -> bytes:
    """Return a 10-Q with about a hundred fragments."""
    rng = random.Random(1_000_000 + number)
    paragraphs = "".join(f"<p>{' '.join(words(rng, 18).capitalize() + '.' for _ in range(9))}</p>" for _ in range(100))
    return (
        "<html><body><p>UNITED STATES SECURITIES AND EXCHANGE COMMISSION</p><p>FORM 10-Q</p>"
        "<p>For the quarterly period ended September 30, 2026</p><p>PART I. FINANCIAL INFORMATION</p>"
        "<p>Item 2. Management's Discussion and Analysis of Financial Condition and Results of Operations</p>"
        f"{paragraphs}<p>PART II. OTHER INFORMATION</p><p>Item 1. Legal Proceedings</p><p>None.</p></body></html>"
    ).encode()


@dataclass(frozen=True)
class Added:
    """What one added filing took: seconds by step, bytes on disk, and its number of fragments."""

    seconds: dict[str, float]
    grown: int
    fragments: int

    @property
    def total(self) -> float:
        """All steps together, in seconds."""
        return sum(self.seconds.values())


def add(store: Store, number: int) -> Added:
    """Add one filing of a company that is there already; publish."""
    company, embedder = f"CO{number % 10:04}", RandomUnitVectors()
    content = report(number)
    stated = Overrides(
        company=company, company_name=company, form="10-Q", period="2026Q3", period_end="2026-09-30",
        filed="2026-11-01", accession=f"0000000001-26-{number:06}",
    )  # fmt: skip
    before = size_of(store.root)
    seconds: dict[str, float] = {}

    def timed(step: str, work: Callable[[], object]) -> object:
        start = time.perf_counter()
        result = work()
        seconds[step] = time.perf_counter() - start
        return result

    receipt = timed("receive", lambda: receive_content(store, content, f"{number}.htm", f"/new/{number}.htm", stated))
    source_id = str(receipt.source_id)  # type: ignore[attr-defined]
    timed("register", lambda: pipeline.register(store, source_id))
    timed("parse", lambda: pipeline.represent(store, source_id))
    made = timed("cut", lambda: pipeline.fragment(store, source_id))
    timed("embed", lambda: pipeline.embed(store, source_id, embedder))
    timed("manifest", lambda: pipeline.build_manifest(store))
    timed("publish", lambda: pipeline.publish_index(store, embedder))
    return Added(seconds, size_of(store.root) - before, len(made))  # type: ignore[arg-type]


def size_of(folder: Path) -> int:
    """Return the bytes of all files under `folder`."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def built(folder: Path, size: int) -> Store:
    """Return a copy, to be added to, of the store of so many fragments; it is made once and kept."""
    kept = Store(folder / str(size))
    if not (kept.root / "built").exists():
        shutil.rmtree(kept.root, ignore_errors=True)
        start = time.perf_counter()
        base_store(kept, size)
        (kept.root / "built").write_text(f"{time.perf_counter() - start:.0f}")
    shutil.rmtree(folder / f"{size}-run", ignore_errors=True)
    shutil.copytree(kept.root, folder / f"{size}-run")
    return Store(folder / f"{size}-run")


def measure(folder: Path, sizes: list[int], rounds: int) -> tuple[list[dict], float]:
    """Add filings to a store of each size in turn; return a line a size, and how many times as much the largest takes
    as the smallest: the median over the rounds, so that whatever else the machine does falls on all alike."""
    stores = [built(folder, size) for size in sizes]
    for store in stores:
        add(store, 0)  # opens libraries, and reads the log once, as a daemon has
    added = [[add(store, number) for store in stores] for number in range(1, rounds + 1)]
    lines = [
        line_of(size, store, [row[place] for row in added])
        for place, (size, store) in enumerate(zip(sizes, stores, strict=True))
    ]
    ratio = statistics.median(row[-1].total / row[0].total for row in added)
    for store in stores:
        shutil.rmtree(store.root)
    return lines, ratio


def line_of(size: int, store: Store, added: list[Added]) -> dict:
    """Return medians of what adding filings to a store took, and the store's own figures."""
    return {
        "fragments": size,
        "sources": size // FRAGMENTS,
        "seconds": statistics.median(one.total for one in added),
        "slowest": max(one.total for one in added),
        "steps": {step: statistics.median(one.seconds[step] for one in added) for step in STEPS},
        "grown_mb": statistics.mean(one.grown for one in added) / 2**20,
        "added_fragments": statistics.median(one.fragments for one in added),
        "store_mb": size_of(store.root) / 2**20,
        "built_in_s": int((store.root / "built").read_text()),
    }


def main() -> int:
    """Measure, print, and tell by the exit code whether the bar holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=ROOT / ".bench" / "increment")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    curve, ratio = measure(arguments.folder, arguments.sizes, arguments.rounds)
    if arguments.json:
        print(json.dumps({"curve": curve, "ratio": ratio, "bar": BAR}))
    else:
        print_curve(curve, ratio)
    return 0 if ratio <= BAR else 1


def print_curve(curve: list[dict], ratio: float) -> None:
    """Print one line a size, and what the largest costs over the smallest."""
    print(f"one filing of {curve[0]['added_fragments']:.0f} fragments, the whole way; medians in milliseconds\n")
    print(
        f"{'fragments':>10}{'sources':>9}{'total':>8}{'slowest':>9}"
        + "".join(f"{step:>10}" for step in STEPS)
        + "   disk"
    )
    for line in curve:
        steps = "".join(f"{line['steps'][step] * 1000:>10.0f}" for step in STEPS)
        total = f"{line['seconds'] * 1000:>8.0f}{line['slowest'] * 1000:>9.0f}"
        disk = f"+{line['grown_mb']:.1f} of {line['store_mb']:.0f} MB"
        print(f"{line['fragments']:>10}{line['sources']:>9}{total}{steps}   {disk}")
    print(f"\n{curve[-1]['fragments']:,} against {curve[0]['fragments']:,} fragments: {ratio:.2f} times (bar {BAR})")


if __name__ == "__main__":
    sys.exit(main())
