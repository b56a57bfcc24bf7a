"""Proof, after the fact: every citation re-read from stored bytes, the chains re-computed, the database compared."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import duckdb

from finrag_pipelines.catalog.catalog import read_catalog
from finrag_pipelines.catalog.log import CatalogError, check_log
from finrag_pipelines.evidence.blank import blank_paths, rests_on
from finrag_pipelines.evidence.mirrors import catalog_differences, database_differences
from finrag_pipelines.evidence.model import Difference
from finrag_pipelines.evidence.records import GENESIS, AnswerRecord, Sealed, commitment, record_hash, unseal
from finrag_pipelines.evidence.write import (
    FOLDER,
    Disclosed,
    EvidenceError,
    find_answer,
    finish_interrupted,
    read_disclosure,
    read_head,
    read_records,
    read_run,
    run_ids,
)
from finrag_pipelines.parsing.representation_store import read_representation
from finrag_pipelines.storage import Store, StoreError, sha256_text

__all__ = ["Difference", "erased_answers", "verify"]


def verify(
    store: Store, answer_id: str | None = None, published: frozenset[tuple[str, int]] | None = None
) -> list[Difference]:
    """Compare what is stored with what was recorded: for one answer, or for all. An empty list is a proof.

    Citations are read from the stored representation bytes, representations and objects are hashed, the chains of
    records, disclosures and catalog log are computed, and the database rows are compared with them. `published` are
    the (source, version) pairs of the index that answers; without it the availability of sources is not compared.
    """
    found: list[Difference] = []
    with store.lock("evidence"):  # a writer at work is not a difference
        found += _recovered(store)
        if answer_id is None:
            records, differences = _all_records(store)
            disclosures, more = _all_disclosures(store)
            found += differences + more + _end_differences(store, records, disclosures)
        else:
            try:
                records, disclosures = [find_answer(store, answer_id)], []
            except EvidenceError as error:
                return [Difference(answer_id, "evidence", str(error))]
        try:
            found += database_differences(store, records, None if answer_id else disclosures)
        except duckdb.Error as error:
            found.append(Difference("", "database", f"cannot be read: {str(error).splitlines()[0]}"))
    texts = _Representations(store)
    may_be_blank = _erasures(store)
    for sealed in records:
        found += _record_differences(sealed)
        if blank_paths(sealed) and not may_be_blank(sealed):
            found.append(Difference(sealed.answer_id, "texts", "are blank, and no erasure accounts for it"))
        found += _citation_differences(sealed, texts)
    if answer_id is None:
        found += _catalog_log_differences(store, texts, published)
    return sorted(set(found))


def _erasures(store: Store) -> Callable[[Sealed], bool]:
    """Return what tells whether an erasure, done or under way, accounts for the blank texts of a record."""
    try:
        catalog = read_catalog(store)
    except CatalogError:
        return lambda sealed: True  # that the log is damaged is a difference of its own
    contents = catalog.erased_contents
    answers = frozenset().union(*(one.answers for one in catalog.erasures))
    under_way = any(not one.is_done for one in catalog.erasures)
    return lambda sealed: under_way or sealed.answer_id in answers or rests_on(sealed, contents)


def erased_answers(store: Store, answer_id: str | None = None) -> tuple[str, ...]:
    """Return the ids of the answers of which texts were erased, in the order of the chain: all, or this one."""
    records = read_records(store) if answer_id is None else [find_answer(store, answer_id)]
    return tuple(one.answer_id for one in records if blank_paths(one))


def _recovered(store: Store) -> list[Difference]:
    """Finish what a killed writer left half done; what cannot be finished is a difference."""
    try:
        finish_interrupted(store)
    except (EvidenceError, duckdb.Error) as error:
        return [Difference("", "evidence/PENDING", f"cannot be finished: {str(error).splitlines()[0]}")]
    return []


def _all_records(store: Store) -> tuple[list[Sealed], list[Difference]]:
    records: list[Sealed] = []
    found = []
    for run_id in run_ids(store):
        try:
            records += read_run(store, run_id)
        except EvidenceError as error:
            found.append(Difference("", f"evidence/{run_id}.parquet", str(error)))
    records.sort(key=lambda one: (one.sequence, one.answer_id))
    return records, found + _chain_differences(records)


def _chain_differences(records: list[Sealed]) -> list[Difference]:
    found = []
    previous, expected = GENESIS, 1
    for one in records:
        if one.sequence != expected:
            what = "is missing from the chain" if one.sequence > expected else "stands twice in the chain"
            found.append(Difference(one.answer_id, "chain", f"record {min(expected, one.sequence)} {what}"))
        elif one.previous_hash != previous:
            found.append(Difference(one.answer_id, "chain", f"record {one.sequence} does not follow its predecessor"))
        previous, expected = one.record_hash, one.sequence + 1
    return found


def _all_disclosures(store: Store) -> tuple[list[Disclosed], list[Difference]]:
    disclosures: list[Disclosed] = []
    found = []
    previous = GENESIS
    for expected, path in enumerate(sorted(store.path(FOLDER, "disclosures").glob("*.json")), start=1):
        where = f"evidence/disclosures/{path.name}"
        try:
            one = read_disclosure(path)
        except EvidenceError as error:
            found.append(Difference("", where, str(error)))
            previous = ""
            continue
        if one.sequence != expected or (previous and one.previous_hash != previous):
            found.append(Difference(one.disclosure.answer_id, where, "does not follow the disclosure before it"))
        disclosures.append(one)
        previous = one.record_hash
    return disclosures, found


def _end_differences(store: Store, records: list[Sealed], disclosures: list[Disclosed]) -> list[Difference]:
    """Compare both chains with HEAD, which knows where they end."""
    where = "evidence/HEAD"
    try:
        head = read_head(store)
    except EvidenceError as error:
        return [Difference("", where, str(error))]
    last = (records[-1].sequence, records[-1].record_hash) if records else (0, GENESIS)
    shown = (disclosures[-1].sequence, disclosures[-1].record_hash) if disclosures else (0, GENESIS)
    found = [
        *_one_end("record", (head.sequence, head.record_hash), last),
        *_one_end("disclosure", (head.disclosures, head.disclosure_hash), shown),
    ]
    if head.runs != len(run_ids(store)):
        found.append(f"counts {head.runs} runs, found {len(run_ids(store))}")
    return [Difference("", where, what) for what in found]


def _one_end(name: str, promised: tuple[int, str], there: tuple[int, str]) -> Iterator[str]:
    if promised[0] != there[0]:
        yield f"names {name} {promised[0]} as the newest, found up to {there[0]}"
    elif promised[1] != there[1]:
        yield f"does not hold the hash of {name} {there[0]}"


def _catalog_log_differences(
    store: Store, texts: "_Representations", published: frozenset[tuple[str, int]] | None
) -> list[Difference]:
    """Check the catalog log, the tables made from it, and the bytes of every document version that it names."""
    try:
        check_log(store)
        catalog = read_catalog(store)
    except CatalogError as error:
        return [Difference("", "catalog/log", str(error))]
    found = []
    for source_id, source in sorted(catalog.sources.items()):
        for version in source.versions:
            where = f"{source_id} version {version.version}"
            if store.path("objects", version.content_sha256).exists():
                what = texts.wrong_object(version.content_sha256)
                found += [Difference("", where, what)] if what else []
            if version.representation_id and store.path("representations", version.representation_id).exists():
                found += [Difference("", where, what) for what in texts.text(version.representation_id)[1]]
    try:
        found += catalog_differences(store, published)
    except duckdb.Error as error:
        found.append(Difference("", "database", f"cannot be read: {str(error).splitlines()[0]}"))
    return found


def _record_differences(sealed: Sealed) -> list[Difference]:
    """Compare a record with its own hash, and each text with its commitment (an erased text has no salt)."""
    found = []
    if record_hash(sealed.previous_hash, sealed.sequence, sealed.committed_json) != sealed.record_hash:
        found.append(Difference(sealed.answer_id, "record", "does not hash to its record hash"))
    try:
        tree = json.loads(sealed.committed_json)
    except ValueError as error:
        return [*found, Difference(sealed.answer_id, "record", f"is no JSON: {error}")]
    if tree.get("answer_id") != sealed.answer_id or tree.get("run_id") != sealed.run_id:
        found.append(Difference(sealed.answer_id, "record", "stands under another answer's id"))
    promised = dict(_commitments(tree))
    for path in sorted(promised.keys() | sealed.texts.keys()):
        salt, text = sealed.texts.get(path, ("", ""))
        if path not in sealed.texts:
            found.append(Difference(sealed.answer_id, path, "its text is missing beside the record"))
        elif path not in promised:
            found.append(Difference(sealed.answer_id, path, "a text that the record does not commit to"))
        elif salt and commitment(salt, text) != promised[path]:
            found.append(Difference(sealed.answer_id, path, "the text is not the one that was recorded"))
        elif not salt and text:
            found.append(Difference(sealed.answer_id, path, "a text stands where one was erased"))
    return found


def _commitments(tree: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(tree, dict):
        if set(tree) == {"sha256"}:
            return [(path, tree["sha256"])]
        return [one for key, value in tree.items() for one in _commitments(value, f"{path}.{key}" if path else key)]
    if isinstance(tree, list):
        return [
            one for key, value in enumerate(tree) for one in _commitments(value, f"{path}.{key}" if path else str(key))
        ]
    return []


class _Representations:
    """Stored texts by representation id, each read and hashed once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts: dict[str, tuple[str | None, tuple[str, ...]]] = {}
        self._objects: dict[str, str | None] = {}

    def text(self, representation_id: str) -> tuple[str | None, tuple[str, ...]]:
        """Return the text, or None, and what is wrong with the representation."""
        if representation_id not in self._texts:
            self._texts[representation_id] = self._read(representation_id)
        return self._texts[representation_id]

    def _read(self, representation_id: str) -> tuple[str | None, tuple[str, ...]]:
        try:
            return read_representation(self._store, representation_id).text, ()
        except StoreError as error:
            return None, (str(error),)
        except Exception as error:  # bytes that hash right and cannot be opened are a difference too
            name = f"representation {representation_id[:12]}…"
            return None, (f"{name} cannot be opened: {type(error).__name__}: {error}",)

    def wrong_object(self, content_sha256: str) -> str | None:
        """Return what is wrong with an object, or None."""
        if content_sha256 not in self._objects:
            try:
                self._store.get_object(content_sha256)
                self._objects[content_sha256] = None
            except StoreError as error:
                self._objects[content_sha256] = str(error)
        return self._objects[content_sha256]


def _citation_differences(sealed: Sealed, texts: _Representations) -> list[Difference]:
    try:
        record = unseal(sealed)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        return [Difference(sealed.answer_id, "record", f"cannot be read back: {error}")]
    found = []
    for number, citation in enumerate(record.citations):
        where = f"citations.{number}"
        if not sealed.texts.get(f"{where}.quote", ("", ""))[0]:
            continue  # erased on purpose: nothing is left to compare
        text, wrong = texts.text(citation.representation_id)
        found += [Difference(sealed.answer_id, where, what) for what in wrong]
        if text is not None and text[citation.start : citation.end] != citation.quote:
            what = f"the representation reads differently at [{citation.start}, {citation.end})"
            found.append(Difference(sealed.answer_id, where, what))
        if sha256_text(citation.quote) != citation.quote_sha256:
            found.append(Difference(sealed.answer_id, where, "the quote does not hash to its recorded hash"))
        if what := texts.wrong_object(citation.content_sha256):
            found.append(Difference(sealed.answer_id, where, what))
    return found + _delivery_differences(record, texts)


def _delivery_differences(record: AnswerRecord, texts: _Representations) -> list[Difference]:
    """Compare deliveries that were cited with the stored text; the others may have been erased since."""
    cited = {one.fragment_id for one in record.citations}
    found = []
    for one in record.deliveries:
        if one.fragment_id in cited:
            text, _ = texts.text(one.representation_id)
            if text is not None and sha256_text(text[one.start : one.end]) != one.text_sha256:
                where = f"deliveries.{one.position}"
                found.append(Difference(record.answer_id, where, "the delivered text reads differently now"))
    delivered = {one.fragment_id for one in record.deliveries}
    for fragment_id in sorted(cited - delivered):
        found.append(Difference(record.answer_id, "citations", f"fragment {fragment_id} was cited, never delivered"))
    return found
