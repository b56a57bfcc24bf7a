"""Erasing documents: a tombstone first, so that nobody reads them from then on, then every trace, proved by a search.

Every step finds by itself what is left to do, so that an erasure that was killed anywhere is finished by doing it
again.
The canonical text is needed to find its own words, so it is the last thing to go.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from finrag_pipelines.catalog.catalog import Erasure, read_catalog
from finrag_pipelines.catalog.lifecycle import pending_redactions, record_erased, record_erasure_done, redact_log
from finrag_pipelines.catalog.mirror import mirror_catalog
from finrag_pipelines.evidence.blank import blanked, rests_on
from finrag_pipelines.evidence.erasure import Blanked, blank_records
from finrag_pipelines.evidence.records import ERASED, Sealed
from finrag_pipelines.evidence.write import read_records
from finrag_pipelines.indexing.build import describe_index
from finrag_pipelines.indexing.publication import current_version
from finrag_pipelines.lifecycle.files import Removed, forget_abandoned, forget_files, fragments_of, other_fragments
from finrag_pipelines.lifecycle.indexes import Replaced, forget_in_indexes
from finrag_pipelines.lifecycle.passages import OwnWords, Passages
from finrag_pipelines.lifecycle.search import Hit, Searched, search
from finrag_pipelines.parsing.representation_store import FOLDER as REPRESENTATIONS
from finrag_pipelines.parsing.representation_store import forget_representations, read_record, representations_of
from finrag_pipelines.storage import Store, StoreError, crash_point
from finrag_pipelines.storage.database import DATABASE, database, rewrite_database

ForgetRuns = Callable[[Store, Sequence[str]], int]
"""Removes what Dagster keeps of runs whose questions repeat an erased document; returns how many runs that were."""


@dataclass(frozen=True)
class ErasureReport:
    """What an erasure did. `answers` are those of which a text is blank; `is_done` is false where the search found
    something, which `searched` names: the erasure is then finished by another `finrag erase`."""

    source_ids: tuple[str, ...]
    is_done: bool
    versions_replaced: tuple[Replaced, ...]
    answers: tuple[str, ...]
    texts_blanked: int
    runs_forgotten: int
    removed: Removed
    searched: Searched


def declare(store: Store, source_id: str, reason: str, contents: frozenset[str] | None = None) -> Erasure:
    """Write the tombstone of a source, or of superseded bytes of it: from now on nobody can read it. Raises
    CatalogError for an unknown source."""
    source = read_catalog(store).source(source_id)
    gone = contents if contents is not None else frozenset(one.content_sha256 for one in source.received)
    texts = set()
    for folder in representations_of(store, gone):
        try:
            texts.add(read_record(store, folder.name).files["text.txt"])
        except StoreError:
            continue  # unfinished: its text is that of a finished one
    return record_erased(store, source_id, contents, frozenset(texts), reason)


def unfinished(store: Store) -> tuple[Erasure, ...]:
    """Return the erasures of which traces may be left, oldest first."""
    return tuple(one for one in read_catalog(store).erasures if not one.is_done)


def said_of(one: Erasure) -> str:
    """Say of an unfinished erasure what it is, and what to do."""
    return (
        f"the erasure of {one.source_id} is not finished: `finrag erase {one.source_id} --yes` goes on with it "
        "and says where its words are left; files that are not the store's are for you to remove"
    )


def carry_out(store: Store, erasures: Sequence[Erasure], forget_runs: ForgetRuns | None = None) -> ErasureReport:
    """Remove every trace of what the tombstones name, and search the store for what is left. Safe to repeat.

    The caller holds the `ingest` lock. Raises StaleIndexError where the index has to be built again first.
    """
    contents = frozenset().union(*(one.contents for one in erasures))
    with store.lock("publication", timeout=3600):
        for one in erasures:
            redact_log(store, one)
        crash_point("lifecycle.after_redactions")
        replaced = forget_in_indexes(store, contents)
        crash_point("lifecycle.after_indexes")
        answers = blank_records(store, contents, _repeats(store, contents))
        crash_point("lifecycle.after_records")
        removed = Removed()
        for one in erasures:
            removed += forget_files(store, one.source_id, one.contents)
        removed += forget_abandoned(store)
        crash_point("lifecycle.after_files")
        mirror_catalog(store, _published(store))
        crash_point("lifecycle.before_database_rewritten")
        rewrite_database(store)
        crash_point("lifecycle.after_database_rewritten")
        runs = forget_runs(store, answers.runs_without_question) if forget_runs else 0
        searched = search_for(store, contents)
        if not searched.hits:
            crash_point("lifecycle.before_representations")
            forget_representations(store, contents)
            crash_point("lifecycle.before_done")
            for one in erasures:
                record_erasure_done(store, one, _counts(replaced, answers, searched))
            crash_point("lifecycle.after_done")
            mirror_catalog(store, _published(store))
    return ErasureReport(
        source_ids=tuple(one.source_id for one in erasures),
        is_done=not searched.hits,
        versions_replaced=replaced,
        answers=answers.answers,
        texts_blanked=answers.texts,
        runs_forgotten=runs,
        removed=removed,
        searched=searched,
    )


def _counts(replaced: Sequence[Replaced], answers: Blanked, searched: Searched) -> dict[str, Any]:
    return {
        "versions_replaced": [asdict(one) for one in replaced],
        "texts_blanked": answers.texts,
        "answers": list(answers.answers),
        "searched": {"files": searched.files, "bytes": searched.bytes, "passages": searched.passages},
    }


def _published(store: Store) -> frozenset[tuple[str, int]]:
    version = current_version(store)
    if version is None:
        return frozenset()
    name = describe_index(store, version).manifest_sha256
    return frozenset(
        (entry["source_id"], entry["version"])
        for entry in json.loads(store.path("manifests", f"{name}.json").read_bytes())
    )


def _texts(store: Store, contents: Collection[str]) -> list[str]:
    """Return what the documents say: the canonical text of each representation, and titles that stand outside it."""
    texts = []
    for folder in representations_of(store, contents):
        texts.append((folder / "text.txt").read_bytes().decode("utf-8", "replace"))
        structure = folder / "structure.json"
        if structure.exists():
            identity = json.loads(structure.read_bytes())["identity"]
            texts += [one for one in (identity.get("title"), identity.get("author")) if one]
    return texts


def _other_texts(store: Store, contents: Collection[str]) -> Iterator[bytes]:
    gone = {folder.name for folder in representations_of(store, contents)}
    for folder in sorted(store.path(REPRESENTATIONS).glob("*")):
        if folder.name not in gone:
            for name in ("text.txt", "structure.json"):
                if (folder / name).exists():
                    yield (folder / name).read_bytes()
    yield from other_fragments(store, contents)


def _repeats(store: Store, contents: Collection[str]) -> Callable[[Sealed, str], bool]:
    """Return whether a question repeats the documents: eight words in a row that no other document has, or, where they
    were delivered for it, one word."""
    records = read_records(store)
    resting = {one.answer_id for one in records if rests_on(one, contents)}
    questions = [one.texts["question"][1] for one in records if "question" in one.texts]
    own = OwnWords(_texts(store, contents), questions, _other_texts(store, contents))
    return lambda sealed, text: own.repeated_by(text) or (sealed.answer_id in resting and own.named_by(text))


def search_for(store: Store, contents: Collection[str], more: Mapping[str, Passages] | None = None) -> Searched:
    """Search the store for the documents with these hashes: for their bytes, and for passages of their texts, as far as
    those are still there, and `more`, by the name of each, less what other documents say too."""
    folders = representations_of(store, contents)
    asked = dict(more or {})
    for folder in folders:
        asked[f"text {folder.name[:12]}"] = Passages.sampled([(folder / "text.txt").read_text("utf-8", "replace")])
    passages = Passages.sampled(_texts(store, contents))
    for one in asked.values():
        passages |= one
    for content in _other_texts(store, contents) if passages else ():
        passages = passages.without_those_in(content)
    untold = tuple(sorted(name for name, one in asked.items() if not one.overlaps(passages)))
    return replace(search(store, passages, contents, folders), untold=untold)


def traces(store: Store, erasures: Sequence[Erasure]) -> tuple[Hit, ...]:
    """Return what still names erased documents where only their words and vectors should be gone: by their hashes."""
    found: list[Hit] = []
    for one in erasures:
        found += [_trace(store, path) for path in representations_of(store, one.contents)]
        found += [_trace(store, path) for path in fragments_of(store, one.source_id, one.contents)]
        found += [Hit("catalog/log", f"entry {number} is not redacted", 1) for number in pending_redactions(store, one)]
    contents = frozenset().union(*(one.contents for one in erasures))
    for path in sorted((*store.path("lexical").glob("*/shard.json"), *store.path("manifests").glob("*.json"))):
        record = json.loads(path.read_bytes())
        entries = record["entries"] if isinstance(record, dict) and "entries" in record else record
        if isinstance(entries, list) and any(entry.get("content_sha256") in contents for entry in entries):
            found.append(_trace(store, path))
    for sealed in read_records(store):
        if blanked(sealed, contents) != sealed:
            found.append(Hit(f"evidence/{sealed.run_id}.parquet", f"texts of {sealed.answer_id}", 1))
    return tuple(sorted({*found, *_rows(store, contents)}))


def _trace(store: Store, path: Path) -> Hit:
    return Hit(str(path.relative_to(store.root)), "names it", 1)


def _rows(store: Store, contents: Collection[str]) -> list[Hit]:
    if not store.path(DATABASE).exists() or not contents:
        return []
    marks = ", ".join("?" for _ in contents)
    query = f"SELECT count(*) FROM evidence.citations WHERE content_sha256 IN ({marks}) AND quote <> ?"
    with database(store) as connection:
        try:
            row = connection.execute(query, [*sorted(contents), ERASED]).fetchone()
        except duckdb.CatalogException:
            return []
    return [Hit(DATABASE, "table evidence.citations", row[0])] if row and row[0] else []
