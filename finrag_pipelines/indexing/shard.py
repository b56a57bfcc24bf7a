"""One immutable lexical shard: the fragments of one company under one set of access labels, as Tantivy holds them.

A shard is a pure function of its entries and fragments. Beside the engine's files lie the fragments' filter columns
and term sequences, so that candidates can be filtered, checked and scored without reading their text.
"""

import json
import shutil
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.indexing.analyzer import ANALYZER, phrases, terms
from finrag_pipelines.indexing.manifest import ManifestEntry, ShardKey, entry_from_json
from finrag_pipelines.indexing.period_codes import period_codes
from finrag_pipelines.storage import digest, sha256_bytes, temporary_prefix, write_file

SCHEMA = "finrag-lexical-1"
WORDS, PHRASES = "words", "phrases"
_WRITER_BYTES = 128_000_000
_FRAGMENT_FIELDS = tuple(field.name for field in fields(Fragment))


def term_hash(term: str) -> int:
    """The 64-bit name of a term in the sidecar files."""
    return int.from_bytes(bytes.fromhex(sha256_bytes(term.encode("utf-8", "surrogatepass"))[:16]), "big")


def shard_hash(entries: Sequence[ManifestEntry]) -> str:
    """The name of the shard that holds exactly `entries`: a hash of them, the analyzer and the schema."""
    return digest([SCHEMA, ANALYZER, [entry.record for entry in sorted(entries)]])


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field(WORDS, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(PHRASES, tokenizer_name="whitespace", index_option="freq")
    builder.add_unsigned_field("source", indexed=True)  # position of the entry in the shard
    builder.add_unsigned_field("period", indexed=True)  # several
    for name in ("section", "role", "type"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("ord", indexed=True, fast=True)
    builder.add_bytes_field("fragment", stored=True)
    return builder.build()


@cache
def _shared_schema() -> Any:
    return _schema()


def engine_query(weighted: Collection[tuple[str, str, float]]) -> Any:
    """Return the engine's query for rows that hold any of the (field, term, weight)s, usable with every shard; None
    for no terms. Built from terms, so that no text is ever parsed as a query language."""
    import tantivy

    either = []
    for field, term, weight in sorted(weighted):
        query = tantivy.Query.term_query(_shared_schema(), field, term, "freq")
        either.append((tantivy.Occur.Should, query if weight == 1.0 else tantivy.Query.boost_query(query, weight)))
    return tantivy.Query.boolean_query(either) if either else None


def _open_index(folder: Path) -> Any:
    import tantivy

    index = tantivy.Index.open(str(folder))
    index.register_tokenizer("whitespace", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


def _fragment_bytes(fragment: Fragment) -> bytes:
    return json.dumps([getattr(fragment, name) for name in _FRAGMENT_FIELDS], ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def _fragment_from_bytes(content: bytes) -> Fragment:
    values: list[Any] = json.loads(bytes(content).decode("utf-8", "surrogatepass"))
    named: dict[str, Any] = dict(zip(_FRAGMENT_FIELDS, values, strict=True))
    named["periods"] = tuple(named["periods"])
    return Fragment(**named)


def build_shard(folder: Path, key: ShardKey, entries: Sequence[ManifestEntry], fragments: Sequence[Fragment]) -> None:
    """Write the shard of `entries`, whose fragments are all of `fragments`, to `folder`, whole or not at all.

    Raises ValueError where fragments and entries do not belong together, or one fragment id stands twice.
    """
    import tantivy

    entries = sorted(entries)
    place = {(entry.source_id, entry.content_sha256): position for position, entry in enumerate(entries)}
    ordered = sorted(fragments, key=lambda fragment: fragment.fragment_id)
    for before, after in pairwise(ordered):
        if before.fragment_id == after.fragment_id:
            raise ValueError(f"fragment {after.fragment_id} of {after.source_id} stands twice; chunk the source again")
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=temporary_prefix()))
    try:
        index = tantivy.Index(_schema(), path=str(aside))
        index.register_tokenizer("whitespace", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
        writer = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        sequences: list[list[str]] = []
        sources: list[int] = []
        periods: list[list[int]] = []
        for position, fragment in enumerate(ordered):
            source = place.get((fragment.source_id, fragment.content_sha256))
            if source is None:
                raise ValueError(f"fragment {fragment.fragment_id} is of {fragment.source_id}, not in {key}")
            words = terms(fragment.embedded_text)
            codes = sorted(period_codes(fragment))
            document = tantivy.Document()
            document.add_text(WORDS, " ".join(words))
            document.add_text(PHRASES, " ".join(phrases(words)))
            document.add_unsigned("source", source)
            document.add_unsigned("ord", position)
            for code in codes:
                document.add_unsigned("period", code)
            for name, value in (
                ("section", fragment.section),
                ("role", fragment.role),
                ("type", fragment.representation_type),
            ):
                if value:
                    document.add_text(name, value)
            document.add_bytes("fragment", _fragment_bytes(fragment))
            writer.add_document(document)
            sequences.append(words)
            sources.append(source)
            periods.append(codes)
        writer.commit()
        writer.wait_merging_threads()
        _write_columns(aside, ordered, sequences, sources, periods)
        summary = {
            "schema": SCHEMA,
            "analyzer": ANALYZER,
            "company": key.company,
            "labels": list(key.labels),
            "entries": [entry.record for entry in entries],
            "fragments": len(ordered),
            "words": sum(len(words) for words in sequences),
            "phrases": sum(len(phrases(words)) for words in sequences),
        }
        write_file(aside / "shard.json", json.dumps(summary, sort_keys=True, ensure_ascii=False).encode())
        if folder.exists():
            shutil.rmtree(folder)
        aside.replace(folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _write_columns(
    folder: Path,
    fragments: Sequence[Fragment],
    sequences: Sequence[Sequence[str]],
    sources: Sequence[int],
    periods: Sequence[Sequence[int]],
) -> None:
    """Write ids, filter columns and term sequences as plain NumPy arrays, which are read without being loaded."""
    hashes = {term: term_hash(term) for words in sequences for term in words}
    vocabulary = np.array(sorted(set(hashes.values())), dtype=np.uint64)
    flat = np.array([hashes[term] for words in sequences for term in words], dtype=np.uint64)
    arrays = {
        "ids": np.array([fragment.fragment_id for fragment in fragments], dtype="S32"),
        "source": np.array(sources, dtype=np.int32),
        "section": np.array([fragment.section or "" for fragment in fragments], dtype=np.str_),
        "role": np.array([fragment.role or "" for fragment in fragments], dtype=np.str_),
        "vocabulary": vocabulary,
        "terms": np.searchsorted(vocabulary, flat).astype(np.uint32),
        "term_bounds": np.cumsum([0, *(len(words) for words in sequences)]).astype(np.int64),
        "periods": np.array([code for codes in periods for code in codes], dtype=np.int32),
        "period_bounds": np.cumsum([0, *(len(codes) for codes in periods)]).astype(np.int64),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


@dataclass(frozen=True)
class RowFilter:
    """What a row must satisfy; None leaves a column open. `sources` are positions of entries in the shard."""

    sources: frozenset[int] | None = None
    periods: frozenset[int] | None = None
    sections: frozenset[str] | None = None
    roles: frozenset[str] | None = None


class Shard:
    """An opened shard: counts, filters, candidates and fragments. Safe to share between threads that only read."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name
        try:
            summary = json.loads((folder / "shard.json").read_bytes())
        except FileNotFoundError:
            raise FileNotFoundError(
                f"shard {name[:12]}… is not in {folder.parent}; build the index again from the same manifest"
            ) from None
        self.key = ShardKey(summary["company"], tuple(summary["labels"]))
        self.entries = tuple(entry_from_json(value) for value in summary["entries"])
        self.count: int = summary["fragments"]
        self.word_total: int = summary["words"]
        self.phrase_total: int = summary["phrases"]

    def _array(self, name: str) -> np.ndarray:
        path = self.folder / f"{name}.npy"
        if name in ("terms", "vocabulary"):  # read where a search needs them; a plain view, which is quicker to slice
            return np.load(path, mmap_mode="r").view(np.ndarray)
        return np.load(path)

    @cached_property
    def ids(self) -> np.ndarray:
        """The fragment ids, sorted; a row's number is its place here."""
        return self._array("ids")

    @cached_property
    def source(self) -> np.ndarray:
        """Per row, the position of its entry."""
        return self._array("source")

    @cached_property
    def section(self) -> np.ndarray:
        """Per row, the key of its section, or an empty string."""
        return self._array("section")

    @cached_property
    def role(self) -> np.ndarray:
        """Per row, the speaker's role, or an empty string."""
        return self._array("role")

    @cached_property
    def terms(self) -> np.ndarray:
        """The term numbers of all rows, one after the other."""
        return self._array("terms")

    @cached_property
    def term_bounds(self) -> np.ndarray:
        """Row r's terms lie in `terms[term_bounds[r]:term_bounds[r + 1]]`."""
        return self._array("term_bounds")

    @cached_property
    def vocabulary(self) -> np.ndarray:
        """The sorted 64-bit names of all terms; a term's number is its place here."""
        return self._array("vocabulary")

    @cached_property
    def _periods(self) -> tuple[np.ndarray, np.ndarray]:
        return self._array("periods"), self._array("period_bounds")

    @cached_property
    def _index(self) -> Any:
        return _open_index(self.folder)

    @cached_property
    def _searcher(self) -> Any:
        return self._index.searcher()

    def doc_freq(self, field: str, term: str) -> int:
        """The number of rows that hold `term` in `field`."""
        return self._searcher.doc_freq(field, term)

    def mask(self, rows: RowFilter) -> np.ndarray:
        """Return a boolean per row: whether it satisfies `rows`."""
        kept = np.ones(self.count, dtype=bool)
        if rows.sources is not None:
            kept &= np.isin(self.source, sorted(rows.sources))
        if rows.periods is not None:
            codes, bounds = self._periods
            hit = np.concatenate([[0], np.cumsum(np.isin(codes, sorted(rows.periods)))])
            kept &= hit[bounds[1:]] > hit[bounds[:-1]]
        if rows.sections is not None:
            kept &= np.isin(self.section, sorted(rows.sections))
        if rows.roles is not None:
            kept &= np.isin(self.role, sorted(rows.roles))
        return kept

    def periods_of(self, row: int) -> frozenset[int]:
        """Return the codes of the periods that a row reports."""
        codes, bounds = self._periods
        return frozenset(int(code) for code in codes[bounds[row] : bounds[row + 1]])

    def reported_periods(self, sources: frozenset[int]) -> frozenset[int]:
        """Return the codes of all periods that the rows of these entries report."""
        codes, bounds = self._periods
        of_row = np.repeat(self.source, np.diff(bounds))
        return frozenset(int(code) for code in np.unique(codes[np.isin(of_row, sorted(sources))]))

    def distinct_terms(self, row: int) -> np.ndarray:
        """Return the numbers of the distinct terms of a row, sorted."""
        return np.unique(self.terms[self.term_bounds[row] : self.term_bounds[row + 1]])

    def hits(self, query: Any, rows: RowFilter, limit: int) -> list[tuple[float, Any]]:
        """Return up to `limit` (score, address) of rows that satisfy `rows` and match `query` (of `engine_query`), as
        the engine's own BM25 orders them; its order among equal scores is not fixed."""
        import tantivy

        if query is None or not self.count:
            return []
        must = [(tantivy.Occur.Must, query)]
        for field, values in (
            ("source", rows.sources),
            ("period", rows.periods),
            ("section", rows.sections),
            ("role", rows.roles),
        ):
            if values is not None:
                one_of = tantivy.Query.term_set_query(_shared_schema(), field, sorted(values))
                must.append((tantivy.Occur.Must, tantivy.Query.const_score_query(one_of, 0.0)))
        whole = query if len(must) == 1 else tantivy.Query.boolean_query(must)
        return self._searcher.search(whole, limit=min(self.count, limit), count=False).hits

    def matching(self, query: Any, rows: RowFilter, limit: int) -> np.ndarray:
        """Return up to `limit` rows that satisfy `rows` and match `query` (of `engine_query`), sorted by row number.

        Where more rows match than `limit`, the engine's own BM25 decides which are kept, ties by row number.
        """
        # The engine's order among equal scores is not fixed: fetch beyond the cut and settle ties by row number.
        hits = self.hits(query, rows, limit + 64)
        if not hits:
            return np.empty(0, dtype=np.int64)
        ords = np.array(self._searcher.fast_field_values("ord", [address for _, address in hits]), dtype=np.int64)
        scores = np.array([score for score, _ in hits], dtype=np.float64)
        return np.sort(ords[np.lexsort((ords, -scores))[:limit]])

    def rows_of(self, places: frozenset[int]) -> np.ndarray:
        """Return the rows of these entries, sorted."""
        return np.flatnonzero(np.isin(self.source, sorted(places)))

    def row_of(self, fragment_id: str) -> int | None:
        """Return the row of a fragment, or None where the shard does not hold it."""
        row = int(np.searchsorted(self.ids, fragment_id.encode()))
        return row if row < self.count and self.ids[row] == fragment_id.encode() else None

    def entry_of(self, row: int) -> ManifestEntry:
        """Return the manifest entry that a row belongs to."""
        return self.entries[int(self.source[row])]

    def fragment(self, row: int) -> Fragment:
        """Return the fragment of a row, as it was indexed."""
        import tantivy

        schema = self._index.schema
        found = self._searcher.search(tantivy.Query.term_query(schema, "ord", row), limit=1, count=False).hits
        return _fragment_from_bytes(self._searcher.doc(found[0][1]).get_first("fragment"))

    def indexed_ids(self) -> set[str]:
        """Return the ids of all fragments as the engine holds them: what a check compares with the manifest."""
        import tantivy

        hits = self._searcher.search(tantivy.Query.all_query(), limit=max(1, self.count + 1), count=False).hits
        return {
            _fragment_from_bytes(self._searcher.doc(address).get_first("fragment")).fragment_id for _, address in hits
        }


class ShardPart:
    """Some entries of a shard, counted as a shard that holds nothing else would count them.

    So that what is withheld since a shard was built moves no score: the frequencies come from the rows' own terms.
    """

    def __init__(self, shard: Shard, places: frozenset[int]) -> None:
        rows = shard.rows_of(places)
        lengths = (shard.term_bounds[rows + 1] - shard.term_bounds[rows]).astype(np.int64)
        self.shard = shard
        self.count = len(rows)
        self.word_total = int(lengths.sum())
        self.phrase_total = int(np.maximum(lengths - 1, 0).sum() + np.maximum(lengths - 2, 0).sum())
        self._kept = np.zeros(shard.count, dtype=bool)
        self._kept[rows] = True

    def doc_freq(self, field: str, term: str) -> int:
        """The number of rows that hold `term` in `field`."""
        words = term.split("_") if field == PHRASES else [term]
        shard = self.shard
        names = np.array([term_hash(word) for word in words], dtype=np.uint64)
        places = np.searchsorted(shard.vocabulary, names)
        if (places == len(shard.vocabulary)).any() or (shard.vocabulary[places] != names).any():
            return 0
        first = np.flatnonzero(shard.terms == places[0])
        first = first[first + len(words) <= len(shard.terms)]
        for step, place in enumerate(places[1:], 1):
            first = first[shard.terms[first + step] == place]
        rows = np.searchsorted(shard.term_bounds, first, side="right") - 1
        whole = first + len(words) <= shard.term_bounds[rows + 1]
        return int(self._kept[np.unique(rows[whole])].sum())
