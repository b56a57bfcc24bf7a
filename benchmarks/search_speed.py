"""How long does a search take beside its engines and its peers, at 10,000 and at 100,000 fragments?

The fragments are those of the FinanceBench filings, repeated under other identities until there are enough. Vectors are
random unit vectors of MiniLM's width, since an exact search takes as long whatever they say. The query's embedding is
timed by `make bench-embedding`, not here. Run with `make bench-search_speed`; after `make bench-retrieval` it starts
sooner. The peers live in an environment of their own:

    python3.11 -m venv .bench/peers
    .bench/peers/bin/pip install rank-bm25 bm25s langchain-classic langchain-community langchain-chroma

Where it is absent they are left out, and the table says so.
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from retrieval import CORPUS, Question, ingest, questions, unscoped

from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL
from finrag_pipelines.chunking.files import read_fragments, write_fragments
from finrag_pipelines.chunking.model import Fragment, fragment_id
from finrag_pipelines.embedding import Progress
from finrag_pipelines.indexing.analyzer import terms
from finrag_pipelines.indexing.build import build_index, fragment_set_id
from finrag_pipelines.indexing.manifest import Manifest, ManifestEntry
from finrag_pipelines.indexing.shard import WORDS, engine_query
from finrag_pipelines.retrieval.model import Plan, SearchResponse
from finrag_pipelines.retrieval.question import plan_question
from finrag_pipelines.retrieval.search import CHANNEL_DEPTH, Index, open_index
from finrag_pipelines.storage import Store, digest, sha256_text, write_file

ROOT = Path(__file__).resolve().parents[1]
SIZES = (10_000, 100_000)
WIDTH = 384
PEERS = ROOT / ".bench" / "peers" / "bin" / "python"
SYLLABLES = ["ba", "du", "fe", "gi", "ko", "lu", "ma", "ni", "po", "ru", "se", "ta", "vo", "wi", "xa", "zu"]


class RandomUnitVectors:
    """An embedder whose vectors depend on the text's hash alone and mean nothing."""

    name = "random"
    dimensions = WIDTH
    model_digest = digest(["random unit vectors", WIDTH])

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return one unit vector a text."""
        found = np.empty((len(texts), WIDTH), dtype=np.float32)
        for row, text in enumerate(texts):
            seed = int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")
            vector = np.random.default_rng(seed).standard_normal(WIDTH)
            found[row] = vector / np.linalg.norm(vector)
        return found


def invented(company: str, copy: int) -> tuple[str, str]:
    """Return the id and name of the company that stands for `company` in a copy: words that no question holds."""
    value = int(digest([company, copy])[:12], 16)
    syllables = [SYLLABLES[value >> 4 * place & 15] for place in range(6)]
    return f"X{copy}{company}", f"{''.join(syllables[:3]).title()} {''.join(syllables[3:]).title()} Inc."


def copied(entry: ManifestEntry, fragments: Sequence[Fragment], copy: int) -> tuple[ManifestEntry, list[Fragment]]:
    """Return a filing and its fragments under another identity; copy 0 is the filing itself."""
    if not copy:
        return entry, list(fragments)
    company, name = invented(entry.company or "none", copy)
    source, content = f"{entry.source_id}_x{copy}", sha256_text(f"{entry.content_sha256} {copy}")
    found = [
        replace(
            f,
            fragment_id=fragment_id(source, content, content, f.start, f.end),
            source_id=source,
            content_sha256=content,
            representation_id=content,
            company=company,
            context=f.context.replace(entry.company_name or "\0", name),
        )
        for f in fragments
    ]
    changed = replace(
        entry,
        source_id=source,
        content_sha256=content,
        representation_id=content,
        company=company,
        company_name=name,
        subjects=(),
    )
    return changed, found


def enlarged(kept: Store, entries: Sequence[ManifestEntry], store: Store, size: int) -> tuple[Manifest, list[str]]:
    """Write `size` fragments into `store` by repeating those of `entries`; return their manifest and their texts."""
    chosen: list[ManifestEntry] = []
    texts: list[str] = []
    copy = 0
    while len(texts) < size:
        for entry in entries:
            changed, fragments = copied(entry, read_fragments(kept.path(entry.fragments_path)), copy)
            fragments = fragments[: size - len(texts)]
            if not fragments:
                break
            name = fragment_set_id(fragments)
            path = f"fragments/{changed.source_id}/{name}.parquet"
            write_fragments(store.path(path), fragments)
            chosen.append(replace(changed, fragment_set_id=name, fragments_path=path))
            texts.extend(f.embedded_text for f in fragments)
        copy += 1
    return Manifest(tuple(chosen)), texts


def milliseconds(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the median time of one call, after one that warms up."""
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def plans(index: Index, asked: Sequence[Question], scoped: bool) -> list[Plan]:
    """Return what is searched for each question: its own plan, or the same words without any filter."""
    view = index.catalog_view(PUBLIC_PRINCIPAL)
    read = [plan_question(question.text, view) for question in asked]
    return read if scoped else [unscoped(plan) for plan in read]


def engines_alone(index: Index, plan: Plan, vector: np.ndarray) -> tuple[float, float]:
    """Return the milliseconds of Tantivy asked for the plan's words, and of LanceDB asked for the vector, each behind
    the filters of the plan's pairs and for as many hits as a channel keeps. Nothing is made of the hits."""
    scopes = [index.scope(pair, plan) for pair in plan.pairs]
    words = engine_query([(WORDS, word, 1.0) for word in dict.fromkeys(plan.ranking_query.split())])

    def tantivy() -> None:
        for scope in scopes:
            for position, rows in scope.shards.items():
                index.shards[position].hits(words, rows, CHANNEL_DEPTH)

    def lancedb() -> None:
        for scope in scopes:
            index.vectors.hits(vector, scope.vectors, CHANNEL_DEPTH)

    return milliseconds(tantivy), milliseconds(lancedb)


@dataclass(frozen=True)
class Timing:
    """Medians over the questions, in milliseconds: a whole search without the query's embedding, of it the channels,
    and the two engines alone."""

    search: float
    p95: float
    tantivy: float
    lancedb: float
    stretches: dict[str, float]

    @property
    def engines(self) -> float:
        """Both engines together."""
        return self.tantivy + self.lancedb


def time_ours(index: Index, asked: Sequence[Question], scoped: bool) -> Timing:
    """Time every question in mode hybrid, reading the question included where it is scoped."""
    embedder = RandomUnitVectors()
    searches, tantivy, lancedb = [], [], []
    laps: dict[str, list[float]] = {}
    for question, plan in zip(asked, plans(index, asked, scoped), strict=True):
        used = None if scoped else plan

        def search(text: str = question.text, used: Plan | None = used) -> SearchResponse:
            return index.search(text, plan=used)

        search()
        rounds = []
        for _ in range(3):
            timings = search().trace.timings_ms
            rounds.append(sum(ms for name, ms in timings.items() if name != "embed"))
            for name, ms in timings.items():
                laps.setdefault(name, []).append(ms)
        searches.append(statistics.median(rounds))
        alone = engines_alone(index, plan, embedder.embed([question.text])[0])
        tantivy.append(alone[0])
        lancedb.append(alone[1])
    return Timing(
        statistics.median(searches),
        float(np.quantile(searches, 0.95)),
        statistics.median(tantivy),
        statistics.median(lancedb),
        {name: round(statistics.median(ms), 3) for name, ms in laps.items()},
    )


def time_peers(folder: Path, texts: Sequence[str], asked: Sequence[Question]) -> dict[str, float]:
    """Return the peers' median milliseconds by name; empty where their environment is absent."""
    if not PEERS.exists():
        return {}
    embedder = RandomUnitVectors()
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "vectors.npy", embedder.embed(texts))
    np.save(folder / "queries.npy", embedder.embed([q.text for q in asked]))
    (folder / "corpus.json").write_text(
        json.dumps(
            {
                "texts": texts,
                "terms": [terms(text) for text in texts],
                "questions": [q.text for q in asked],
                "question_terms": [terms(q.text) for q in asked],
            }
        )
    )
    script = Path(__file__).with_name("search_speed_peers.py")
    done = subprocess.run([PEERS, script, folder], check=False, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", default=str(ROOT / ".bench" / "store"), help="where `bench-retrieval` keeps filings")
    parser.add_argument("--work", default=str(ROOT / ".bench" / "speed"), help="where the enlarged indexes are kept")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--out", default=str(ROOT / ".bench" / "search_speed.json"))
    options = parser.parse_args()
    if not CORPUS.is_dir():
        print(f"no FinanceBench at {CORPUS}: nothing was measured", file=sys.stderr)
        return 0
    kept = Store(Path(options.store).absolute())
    entries = sorted(ingest(kept, CORPUS / "pdfs", keep=True), key=lambda entry: entry.source_id)
    sizes = [int(size) for size in options.sizes.split(",")]
    report: dict = {"vectors": f"random unit vectors, {WIDTH} dimensions", "sizes": {}}
    asked: list[Question] = []
    for size in sizes:
        work = Path(options.work) / str(size)
        store = Store((work / "store").absolute())
        started = time.perf_counter()
        manifest, texts = enlarged(kept, entries, store, size)
        index = open_index(store, build_index(store, manifest, RandomUnitVectors()), RandomUnitVectors())
        print(f"{size:,} fragments ready after {time.perf_counter() - started:.0f} s", file=sys.stderr)
        if not asked:  # the smallest index decides, so that every size is asked the same
            held = {entry.content_sha256 for entry in manifest.entries}
            asked = [question for question in questions(CORPUS) if question.document in held]
        scoped, everything = time_ours(index, asked, True), time_ours(index, asked, False)
        peers = {} if options.no_peers else time_peers(work / "peers", texts, asked)
        report["sizes"][size] = {
            "questions": len(asked),
            "companies": len(index.shards),
            "scoped": {**asdict(scoped), "of_engines": scoped.search / scoped.engines},
            "unscoped": {**asdict(everything), "of_engines": everything.search / everything.engines},
            "peers": peers,
        }
        print(f"\n{size:,} fragments of {len(index.shards)} companies, {len(asked)} questions, medians in ms")
        print(f"{'':<26}{'search':>9}{'p95':>9}{'Tantivy':>9}{'LanceDB':>9}{'of both':>9}")
        for name, timing in (("scoped by the question", scoped), ("without scope", everything)):
            print(
                f"{name:<26}{timing.search:>9.1f}{timing.p95:>9.1f}{timing.tantivy:>9.2f}{timing.lancedb:>9.2f}"
                f"{timing.search / timing.engines:>8.1f}x  {timing.stretches}"
            )
        for name, ms in peers.items():
            print(f"{name:<26}{ms:>9.1f}   {ms / scoped.search:.0f}x scoped, {ms / everything.search:.0f}x without")
        if not peers:
            print(f"no peers were timed: {PEERS.parent.parent} is not set up")
    if len(sizes) > 1:
        first, last = report["sizes"][sizes[0]], report["sizes"][sizes[-1]]
        report["growth"] = {kind: last[kind]["search"] / first[kind]["search"] for kind in ("scoped", "unscoped")}
        print(
            f"\nfrom {sizes[0]:,} to {sizes[-1]:,}: " + ", ".join(f"{k} {v:.2f}x" for k, v in report["growth"].items())
        )
    write_file(Path(options.out), json.dumps(report, indent=1).encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
