"""Does retrieval find the right page? FinanceBench questions over all of its filings in one index.

Nothing is told about the right document. A hit is any page with evidence among the first k distinct pages. Run with
`make bench-retrieval`; the store keeps parsed filings and vectors between runs, so that only what changed is redone.
"""

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

import finrag_pipelines
from finrag_pipelines.catalog.access import PUBLIC, PUBLIC_PRINCIPAL
from finrag_pipelines.catalog.catalog import source_id_for
from finrag_pipelines.chunking.chunk import chunk
from finrag_pipelines.chunking.files import write_fragments
from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.indexing.analyzer import terms
from finrag_pipelines.indexing.build import build_index, fragment_set_id
from finrag_pipelines.indexing.manifest import Manifest, ManifestEntry, entry_from_json
from finrag_pipelines.indexing.period_codes import period_codes
from finrag_pipelines.indexing.publication import publish
from finrag_pipelines.parsing.parse import parse
from finrag_pipelines.retrieval import bm25, priors, search
from finrag_pipelines.retrieval.model import Candidate, Pair, Plan
from finrag_pipelines.retrieval.question import plan_question
from finrag_pipelines.retrieval.scope import accepted_periods
from finrag_pipelines.retrieval.scope_words import load_scope_words
from finrag_pipelines.retrieval.search import Index, open_index
from finrag_pipelines.storage import Store, canonical_json, digest, sha256_bytes, write_file

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus" / "financebench"
DEPTH = 40
CUTS = (1, 5, 10)
SHOWN = ("page_recall@1", "page_recall@5", "page_recall@10", "all_pages_recall@10", "doc_recall@1")
IDEAS = ("lexicon", "statements", "phrases", "priors", "section prior", "period filter", "collapsing")


@dataclass(frozen=True)
class Question:
    """A question with the hash of its document's bytes and its gold pages (zero-based)."""

    text: str
    document: str
    pages: frozenset[int]
    name: str


def code_digest() -> str:
    """The hash of the code that decides what the fragments are."""
    package = Path(finrag_pipelines.__file__).parent
    digests = [
        hashlib.sha256(path.read_bytes()).hexdigest()
        for stage in ("catalog", "parsing", "chunking")
        for path in sorted((package / stage).rglob("*"))
        if path.suffix in (".py", ".json") and path.name not in ("catalog.py", "log.py", "mirror.py", "access.py")
    ]
    return digest(digests)


def ingest(store: Store, folder: Path, keep: bool) -> list[ManifestEntry]:
    """Parse and chunk every PDF whose fragments are not in the store yet; with `keep`, any kept version will do."""
    entries: dict[str, ManifestEntry] = {}
    code = code_digest()
    for path in sorted(folder.glob("*.pdf")):
        content = path.read_bytes()
        sha = sha256_bytes(content)
        if sha in entries:
            continue
        kept = store.path("bench", sha, f"{code}.json")
        if not kept.exists() and keep:
            kept = max(store.path("bench", sha).glob("*.json"), key=lambda p: p.stat().st_mtime, default=kept)
        if not kept.exists():
            started = time.perf_counter()
            document = parse(content, path.name)
            identity = document.identity
            source_id = f"{source_id_for(identity)}_{sha[:6]}"
            representation = digest([sha, document.text])
            fragments = chunk(document, source_id, 1, sha, representation)
            name = fragment_set_id(fragments)
            fragments_path = f"fragments/{source_id}/{name}.parquet"
            write_fragments(store.path(fragments_path), fragments)
            entry = ManifestEntry(
                source_id=source_id,
                version=1,
                content_sha256=sha,
                representation_id=representation,
                fragment_set_id=name,
                fragments_path=fragments_path,
                labels=(PUBLIC,),
                company=identity.company,
                company_name=identity.company_name,
                form=identity.form,
                period=identity.period,
                period_end=identity.period_end,
                filed=identity.filed,
                title=identity.title,
                subjects=identity.subjects,
                event_dates=identity.event_dates,
            )
            write_file(kept, canonical_json({**entry.__dict__}))
            print(
                f"{path.name}: {entry.company} {entry.form} {entry.period}, {len(fragments)} fragments, "
                f"{time.perf_counter() - started:.1f} s",
                file=sys.stderr,
            )
        entries[sha] = entry_from_json(json.loads(kept.read_bytes()))
    return list(entries.values())


def questions(folder: Path) -> list[Question]:
    """Read the questions; the hash of a document's bytes stands for it, since two names hold the same bytes."""
    found = []
    for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        sha = sha256_bytes((folder / "pdfs" / f"{row['doc_name']}.pdf").read_bytes())
        pages = frozenset(int(evidence["evidence_page_num"]) for evidence in row["evidence"])
        found.append(Question(row["question"], sha, pages, row["doc_name"]))
    return found


def unscoped(plan: Plan) -> Plan:
    """The same question without any filter: everything is searched, and the scope's words are ranked like others."""
    words = [word for word in terms(plan.question) if word not in load_scope_words().filler]
    return replace(
        plan,
        pairs=(Pair(None, None),),
        companies=(),
        periods=(),
        forms=(),
        sections=(),
        roles=(),
        ranking_query=" ".join(words),
    )


@dataclass(frozen=True)
class Outcome:
    """Rank from 1 of the first gold page and of the last one among distinct pages, and of the right document among
    distinct documents; None where it was not found. `wrong` counts rows of a wrong company, and rows that report no
    period that the question names (a quarter that only an annual report covers may stand in its year's)."""

    page: int | None
    all_pages: int | None
    document: int | None
    wrong: int


def outcome(
    results: Sequence[Candidate], question: Question, companies: Sequence[str], periods: Sequence[str]
) -> Outcome:
    """Score one response."""
    pages = list(dict.fromkeys((c.fragment.content_sha256, c.fragment.page_index) for c in results))
    documents = list(dict.fromkeys(c.fragment.content_sha256 for c in results))
    ranks = [
        rank
        for rank, (document, page) in enumerate(pages, 1)
        if document == question.document and page in question.pages
    ]
    return Outcome(
        page=ranks[0] if ranks else None,
        all_pages=ranks[-1] if len(ranks) == len(question.pages) else None,
        document=documents.index(question.document) + 1 if question.document in documents else None,
        wrong=sum(
            (bool(companies) and c.fragment.company not in companies) or not reports_any(c.fragment, periods)
            for c in results
        ),
    )


def reports_any(fragment: Fragment, periods: Sequence[str]) -> bool:
    """Tell whether a fragment reports one of the periods, or the year of one of them; true where there are none."""
    wanted = {code for label in periods for code in accepted_periods(label) or ()}
    wanted |= {code // 10 * 10 for code in wanted}
    return not periods or not wanted.isdisjoint(period_codes(fragment))


def interval(hits: Sequence[bool], rounds: int = 2000) -> tuple[float, float]:
    """The 95% percentile bootstrap interval of a proportion, with a fixed seed."""
    values = np.asarray(hits, dtype=float)
    means = np.random.default_rng(0).choice(values, (rounds, len(values))).mean(axis=1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def figures(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float | list[float]]]:
    """Recalls with their intervals."""

    def recall(rank: Callable[[Outcome], int | None], k: int) -> dict[str, float | list[float]]:
        hits = [(found := rank(o)) is not None and found <= k for o in outcomes]
        return {"value": float(np.mean(hits)), "interval": list(interval(hits))}

    found = {f"page_recall@{k}": recall(lambda o: o.page, k) for k in CUTS}
    found |= {f"all_pages_recall@{k}": recall(lambda o: o.all_pages, k) for k in CUTS}
    found |= {f"doc_recall@{k}": recall(lambda o: o.document, k) for k in (1, 5)}
    return found


def run(
    index: Index, asked: Sequence[Question], mode: str, scoped: bool, change: Callable[[Plan], Plan] = lambda plan: plan
) -> tuple[list[Outcome], list[float]]:
    """Ask every question in one mode, its plan changed by `change`; return outcomes and milliseconds without the
    query's embedding."""
    outcomes, times = [], []
    view = index.catalog_view(PUBLIC_PRINCIPAL)
    for question in asked:
        plan = plan_question(question.text, view)
        used = change(plan if scoped else unscoped(plan))
        response = index.search(question.text, k=DEPTH, mode=mode, plan=used)
        timings = response.trace.timings_ms
        times.append(sum(ms for name, ms in timings.items() if name != "embed"))
        named = (plan.companies, plan.periods) if scoped else ((), ())
        outcomes.append(outcome(response.results, question, *named))
    return outcomes, times


def without(name: str) -> tuple[Callable[[Plan], Plan], AbstractContextManager[object]]:
    """Return what leaves one idea out: a change of the plan, and a context in which the code does without it."""
    kept: Callable[[Plan], Plan] = lambda plan: plan  # noqa: E731
    match name:
        case "lexicon":
            return lambda plan: replace(plan, expansions=()), nullcontext()
        case "statements":
            return lambda plan: replace(plan, statements=()), nullcontext()
        case "phrases":
            return kept, patch.object(bm25, "PHRASE_WEIGHT", 0.0)
        case "priors":
            return kept, patch.multiple(priors, FILING_PERIOD=1.0, DATE=1.0, SECTION=1.0)
        case "section prior":
            return kept, patch.object(priors, "SECTION", 1.0)
        case "period filter":
            pairs = lambda plan: tuple(dict.fromkeys(Pair(p.company, None) for p in plan.pairs))  # noqa: E731
            return lambda plan: replace(plan, pairs=pairs(plan), periods=()), nullcontext()
        case "collapsing":
            return kept, patch.object(search, "near_duplicates", lambda rows: list(range(len(rows))))
    raise ValueError(f"no idea is called {name!r}; choose one of {', '.join(IDEAS)}")


def depth_losses(index: Index, asked: Sequence[Question], k: int = 10) -> tuple[int, int]:
    """Return how many of the first `k` candidates of all unscoped searches the shards' depth loses, and of how many."""
    whole = Index(index.store, index.description, index.embedder, shard_depth=1_000_000)
    lost = total = 0
    view = index.catalog_view(PUBLIC_PRINCIPAL)
    for question in asked:
        plan = unscoped(plan_question(question.text, view))
        found, expected = (
            {c.fragment.fragment_id for c in one.search(question.text, k=k, plan=plan).results}
            for one in (index, whole)
        )
        lost += len(expected - found)
        total += len(expected)
    return lost, total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default=str(ROOT / ".bench" / "store"), help="where fragments and vectors are kept")
    parser.add_argument("--embedder", default=None)
    parser.add_argument("--modes", default="lexical,vector,hybrid")
    parser.add_argument("--keep", action="store_true", help="use kept fragments though parsing or chunking changed")
    parser.add_argument("--misses", action="store_true", help="list the questions whose page was not among the first 5")
    parser.add_argument("--ideas", action="store_true", help="leave out one idea at a time, and see what it gained")
    parser.add_argument("--depth", action="store_true", help="compare unscoped searches with exhaustive ones")
    parser.add_argument("--out", default=str(ROOT / ".bench" / "retrieval.json"))
    options = parser.parse_args()
    if not CORPUS.is_dir():
        print(f"no FinanceBench at {CORPUS}: nothing was measured", file=sys.stderr)
        return 0
    store = Store(Path(options.store).absolute())
    embedder = open_embedder(options.embedder)
    entries = ingest(store, CORPUS / "pdfs", options.keep)
    version = build_index(store, Manifest(tuple(entries)), embedder)
    publish(store, version)
    index = open_index(store, version, embedder)
    asked = questions(CORPUS)
    report: dict = {"questions": len(asked), "documents": len(entries), "fragments": index.description.fragments}
    print(f"{len(asked)} questions, {len(entries)} documents, {index.description.fragments} fragments")
    print(
        f"{'mode':<24}{'page@1':>8}{'page@5':>8}{'page@10':>8}{'all@10':>8}{'doc@1':>8}{'doc@5':>8}{'wrong':>7}{'ms':>8}"
    )
    for mode in options.modes.split(","):
        for scoped in (False, True):
            outcomes, times = run(index, asked, mode, scoped)
            name = f"{mode}{' scoped' if scoped else ' unscoped'}"
            found = figures(outcomes)
            report[name] = {
                **found,
                "wrong_rows": sum(o.wrong for o in outcomes),
                "median_ms_without_query_embedding": float(np.median(times)),
            }
            values = "".join(f"{found[key]['value']:>8.2f}" for key in (*SHOWN, "doc_recall@5"))
            print(f"{name:<24}{values}{sum(o.wrong for o in outcomes):>7}{np.median(times):>8.1f}")
            if options.misses and scoped:
                for question, result in zip(asked, outcomes, strict=True):
                    if result.page is None or result.page > 5 or result.document != 1:
                        print(f"    {question.name} {sorted(question.pages)} {result}: {question.text[:110]}")
    if options.ideas:
        report["without"] = {}
        for idea in IDEAS:
            change, context = without(idea)
            with context:
                found = figures(run(index, asked, "hybrid", True, change)[0])
            report["without"][idea] = found
            values = "".join(f"{found[key]['value']:>8.2f}" for key in (*SHOWN, "doc_recall@5"))
            print(f"{'  without ' + idea:<24}{values}")
    if options.depth:
        lost, total = depth_losses(index, asked)
        report["depth"] = {"shard_depth": index.shard_depth, "lost": lost, "of": total}
        print(f"depth {index.shard_depth} of each shard loses {lost} of {total} first ten candidates without scope")
    low, high = report["hybrid scoped"]["page_recall@5"]["interval"] if "hybrid scoped" in report else (0, 0)
    print(f"hybrid scoped page_recall@5, 95% bootstrap interval: {low:.2f} to {high:.2f}")
    write_file(Path(options.out), json.dumps(report, indent=1).encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
