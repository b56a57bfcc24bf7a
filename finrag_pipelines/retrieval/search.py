"""Search over one index version: plan, hard filters, two channels, fusion, and a trace of all of it.

No model call decides anything here. The same question, principal and index version give the same response.
"""

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL, Principal
from finrag_pipelines.catalog.catalog import Catalog, read_catalog
from finrag_pipelines.indexing.analyzer import terms
from finrag_pipelines.indexing.build import IndexDescription, describe_index
from finrag_pipelines.indexing.manifest import ManifestEntry
from finrag_pipelines.indexing.matrices import MEMORY_BYTES, ShardVectors, nearest
from finrag_pipelines.indexing.period_codes import code_label
from finrag_pipelines.indexing.publication import resolve_version
from finrag_pipelines.indexing.shard import WORDS, Shard, ShardPart, engine_query
from finrag_pipelines.indexing.vectors import VectorTable
from finrag_pipelines.retrieval.amendments import Amendments, amendments_in
from finrag_pipelines.retrieval.bm25 import LexicalQuery, Statistics, lexical_query, score_rows
from finrag_pipelines.retrieval.catalog_view import CatalogView, known_on
from finrag_pipelines.retrieval.fusion import interleave, near_duplicates, reciprocal_rank_fusion
from finrag_pipelines.retrieval.lexicon import load_lexicon
from finrag_pipelines.retrieval.model import Candidate, Pair, Plan, SearchResponse, Trace
from finrag_pipelines.retrieval.modes import AUTO, FIXED_MODES, load_modes, question_type
from finrag_pipelines.retrieval.priors import preference_for
from finrag_pipelines.retrieval.question import plan_question
from finrag_pipelines.retrieval.rerank import DEPTH as RERANK_DEPTH
from finrag_pipelines.retrieval.rerank import Reranker, rerank
from finrag_pipelines.retrieval.scope import Scope, scope_of
from finrag_pipelines.storage import Store, StoreError

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder

MODES = (*FIXED_MODES, AUTO)
CHANNEL_DEPTH = 100
SHARD_DEPTH = 64
ROWS_SCORED = 3400
"""Without a named company each shard gives its best 64 rows at least, and more where shards are few."""
VECTOR_WEIGHT = 0.3
"""The weight of the vectors' ranks inside a company's scope: there all texts are near to one another, and words decide.
Where no company is named both channels count alike. Between 0.2 and 0.6 the difference is within the noise."""
EXPANSION_WEIGHT = 0.3
TITLE_WEIGHT = 0.4
LINE_WEIGHT = 0.2
_KEPT = 64  # views and statistics that an opened index holds, for so many principals and states of the rules

Row = tuple[int, int]
"""A fragment's place: position of the shard, number of the row."""


class FilterError(RuntimeError):
    """An engine returned a row outside the filters it was given. Nothing of the response may be used."""


@dataclass
class _Ranking:
    """What was found for one pair, best first."""

    pair: Pair
    rows: list[Row] = field(default_factory=list)
    scores: dict[Row, float] = field(default_factory=dict)
    lexical: dict[Row, tuple[int, float]] = field(default_factory=dict)
    vector: dict[Row, tuple[int, float]] = field(default_factory=dict)
    duplicates: dict[Row, int] = field(default_factory=dict)
    priors: dict[Row, tuple[float, tuple[str, ...]]] = field(default_factory=dict)
    rerank: dict[Row, float] = field(default_factory=dict)
    count: int = 0


class Index:
    """An opened index version. Opening reads descriptions only; arrays and tables are read as they are needed.

    Who may read what is decided by the catalog as it stands at each search, however old the version is.

    Where no company is named, each shard gives its `shard_depth` best rows as its engine sees them, more where shards
    are few, and those are scored; inside a company's scope all matches are. Scopes whose vectors take up to
    `vector_memory` bytes are searched in memory.
    """

    def __init__(
        self,
        store: Store,
        description: IndexDescription,
        embedder: "Embedder | None" = None,
        reranker: Reranker | None = None,
        rerank_seconds: float = 30.0,
        shard_depth: int = SHARD_DEPTH,
        rows_scored: int = ROWS_SCORED,
        vector_memory: int = MEMORY_BYTES,
    ) -> None:
        self.shard_depth, self._rows_scored = shard_depth, rows_scored
        self._vector_memory = vector_memory
        self.rerank_seconds = rerank_seconds
        self.store = store
        self.description = description
        self._embedder = embedder
        self.reranker = reranker
        self._statistics: dict[Hashable, Statistics] = {}
        self._views: dict[Hashable, CatalogView] = {}
        self._places: dict[Hashable, dict[int, frozenset[int]]] = {}
        self._amended: dict[Hashable, Amendments] = {}

    @property
    def version(self) -> str:
        """The name of the index version."""
        return self.description.index_version

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """All shards of the version, whoever may read them."""
        return tuple(Shard(self.store.path("lexical", name), name) for _, name in self.description.shards)

    @cached_property
    def vectors(self) -> VectorTable:
        """The vectors of the version's model."""
        return VectorTable(self.store, self.description.model_digest)

    @cached_property
    def matrices(self) -> ShardVectors:
        """The vectors of the shards, as far as searches needed them."""
        return ShardVectors(self.vectors, self.shards, self._vector_memory)

    @property
    def embedder(self) -> "Embedder":
        """The model that the version was built with. Raises StoreError when the one at hand is another."""
        if self._embedder is None:
            from finrag_pipelines.embedding import open_embedder

            self._embedder = open_embedder()
        if self._embedder.model_digest != self.description.model_digest:
            raise StoreError(
                f"index version {self.version[:12]}… was built with the embedding model "
                f"{self.description.model_digest[:12]}…, and {self._embedder.model_digest[:12]}… is configured; "
                "configure that model, search in mode lexical, or build the index again"
            )
        return self._embedder

    def readable(self, principal: Principal) -> tuple[int, ...]:
        """Return the positions of the shards of which a principal may read anything."""
        return tuple(self._readable(principal)[1])

    def _readable(
        self, principal: Principal, excluded: frozenset[str] = frozenset()
    ) -> tuple[Hashable, dict[int, frozenset[int]]]:
        """Return, per position of a shard, the places of the entries that a principal may read under the rules in
        force, and a key that stands for them."""
        catalog = read_catalog(self.store)
        reader = catalog.reader(principal)
        key = (catalog.policy_epoch, reader.groups, excluded)
        if key not in self._places:
            erased = catalog.erased_contents
            places = {
                position: frozenset(
                    place
                    for place, entry in enumerate(shard.entries)
                    if entry.source_id not in excluded
                    and entry.content_sha256 not in erased
                    and _may_read(catalog, reader, entry)
                )
                for position, shard in enumerate(self.shards)
            }
            _keep(self._places, key, {position: found for position, found in places.items() if found})
        return key, self._places[key]

    def catalog_view(
        self, principal: Principal, as_of: str | None = None, excluded: frozenset[str] = frozenset()
    ) -> CatalogView:
        """Return what a principal may know of the corpus on the ISO date `as_of`, `excluded` sources left out."""
        rules, readable = self._readable(principal, excluded)
        key = (rules, as_of)
        if key not in self._views:
            documents = []
            reported: dict[str, set[int]] = {}
            for position, places in readable.items():
                shard = self.shards[position]
                known = frozenset(place for place in places if known_on(shard.entries[place], as_of))
                documents.extend(shard.entries[place] for place in sorted(known))
                if known:
                    reported.setdefault(shard.key.company, set()).update(shard.reported_periods(known))
            labels = {company: frozenset(map(code_label, codes)) for company, codes in reported.items()}
            _keep(self._views, key, CatalogView(tuple(documents), labels, self._holds(principal, excluded)))
        return self._views[key]

    def _holds(self, principal: Principal, excluded: frozenset[str]) -> Callable[[str], bool]:
        """Return a function that tells whether a word stands in what a principal may read."""

        def holds(word: str) -> bool:
            found = terms(word)
            shards = self.statistics(principal, excluded).shards
            return not found or any(shard.doc_freq(WORDS, found[0]) for shard in shards)

        return holds

    def statistics(self, principal: Principal, excluded: frozenset[str] = frozenset()) -> Statistics:
        """Return the term statistics of everything that a principal may read, and of nothing else."""
        key, readable = self._readable(principal, excluded)
        if key not in self._statistics:
            whole = ((self.shards[position], places) for position, places in readable.items())
            parts = [s if len(places) == len(s.entries) else ShardPart(s, places) for s, places in whole]
            _keep(self._statistics, key, Statistics(parts))
        return self._statistics[key]

    def search(
        self,
        question: str,
        principal: Principal = PUBLIC_PRINCIPAL,
        k: int = 10,
        mode: str = "hybrid",
        as_of: date | str | None = None,
        plan: Plan | None = None,
        excluded: frozenset[str] = frozenset(),
    ) -> SearchResponse:
        """Return the `k` best fragments that `principal` may read for `question`, best first, and the trace.

        `as_of` hides documents filed later and anchors "latest"; `plan` replaces the one read from the question;
        `excluded` are sources that must not be found, whatever their labels. Raises ValueError for an unknown mode or
        an `as_of` that is no date.
        """
        if mode not in MODES:
            raise ValueError(f"mode {mode!r} is unknown; choose one of {', '.join(MODES)}")
        clock = _Clock()
        day = _day(as_of) if isinstance(as_of, str) else as_of
        until = day.isoformat() if day else None
        principal = read_catalog(self.store).reader(principal)
        view = self.catalog_view(principal, until, excluded)
        statistics = self.statistics(principal, excluded)
        plan = plan or plan_question(question, view, day)
        query = _lexical_query(plan)
        clock.lap("plan")
        notes: list[str] = list(plan.notes)
        if mode == AUTO:
            choices, kind = load_modes(), question_type(plan)
            mode = choices.mode_of(kind)
            notes.append(f"Mode auto: a question of the type {kind} is searched {mode} (table {choices.sha256[:12]}).")
        vector = self._query_vector(plan, question, mode, notes)
        clock.lap("embed")
        rankings = []
        pairs = plan.pairs or (() if plan.unknown_companies else (Pair(None, None),))
        if not plan.ranking_query and pairs == (Pair(None, None),):
            notes.append("The question has no words to search for.")
            pairs = ()
        for pair in pairs:
            scope = self._scope(pair, plan, view, notes)
            rankings.append(self._rank(pair, plan, scope, query, vector, statistics, view, mode, clock))
        if mode == "hybrid+rerank":
            self._rerank(question, rankings, notes)
            clock.lap("rerank")
        results, repairs = self._merge(rankings, k)
        if rankings and not results:
            notes.append("Nothing in scope holds a word of the question.")
        amended = self._amendments(view)
        notes += amended.notes(frozenset(one.fragment.source_id for one in results))
        clock.lap("merge")
        trace = Trace(
            plan=plan,
            filters=_filters(plan, principal, until),
            candidate_count=sum(ranking.count for ranking in rankings),
            index_version=self.version,
            mode=mode,
            repairs=tuple(repairs),
            notes=tuple(dict.fromkeys(notes)),
            amendments=amended.pairs,
            timings_ms=clock.laps,
        )
        return SearchResponse(tuple(results), trace)

    def scope(self, pair: Pair, plan: Plan, principal: Principal = PUBLIC_PRINCIPAL) -> Scope:
        """Return the rows from which `pair` may be answered, as both engines are told."""
        return scope_of(pair, plan, self.shards, self.catalog_view(principal))

    def _query_vector(self, plan: Plan, question: str, mode: str, notes: list[str]) -> np.ndarray | None:
        if mode == "lexical":
            return None
        titles = [load_lexicon().statement(name).titles[0] for name in plan.statements]
        return self.embedder.embed([" ".join((question[:1000], *titles))])[0]

    def _scope(
        self,
        pair: Pair,
        plan: Plan,
        view: CatalogView,
        notes: list[str],
    ) -> Scope:
        """Return the pair's scope; a section or role that no row of it has is given up, and said."""

        def made(sections: bool, roles: bool) -> Scope:
            return scope_of(pair, plan, self.shards, view, sections, roles)

        scope = made(True, True)
        if not (plan.sections or plan.roles) or self._count(scope):
            return scope
        for sections, roles, what in ((True, False, "speaker"), (False, True, "section"), (False, False, "both")):
            wider = made(sections, roles)
            if self._count(wider):
                named = {"speaker": plan.roles, "section": plan.sections, "both": (*plan.sections, *plan.roles)}[what]
                notes.append(f"Nothing in scope is marked {', '.join(named)}; the rest of the scope was searched.")
                return wider
        return scope

    def _count(self, scope: Scope) -> int:
        return sum(int(self.shards[position].mask(rows).sum()) for position, rows in scope.shards.items())

    def _rank(
        self,
        pair: Pair,
        plan: Plan,
        scope: Scope,
        query: LexicalQuery,
        vector: np.ndarray | None,
        statistics: Statistics,
        view: CatalogView,
        mode: str,
        clock: "_Clock",
    ) -> _Ranking:
        ranking = _Ranking(pair)
        masks = {position: self.shards[position].mask(rows) for position, rows in scope.shards.items()}
        ranking.count = sum(int(mask.sum()) for mask in masks.values())
        clock.lap("filter")
        channels: dict[str, list[Row]] = {}
        if mode != "vector":
            found = self._lexical(scope, query, statistics, restricted=pair.company is not None)
            ranking.lexical = {row: (rank, score) for rank, (row, score) in enumerate(found, 1)}
            channels["lexical"] = [row for row, _ in found]
            clock.lap("lexical")
        if vector is not None:
            hits = self._vector(scope, masks, vector)
            ranking.vector = {row: (rank, score) for rank, (row, score) in enumerate(hits, 1)}
            channels["vector"] = [row for row, _ in hits]
            clock.lap("vector")
        for position, row in {row for channel in channels.values() for row in channel}:
            self._assert_row(position, row, masks, view)
        weights = {"vector": VECTOR_WEIGHT} if pair.company is not None and "lexical" in channels else {}
        ranking.scores = reciprocal_rank_fusion(channels, weights)
        preference = preference_for(pair, plan, self._reporting(masks), self._amendments(view))
        for position, row in ranking.scores:
            factor, reasons = preference.of(
                self.shards[position].entry_of(row), str(self.shards[position].section[row])
            )
            ranking.scores[position, row] *= factor
            ranking.priors[position, row] = (factor, reasons)
        ordered = sorted(ranking.scores, key=lambda row: (-ranking.scores[row], self._fragment_key(row)))
        ranking.rows = self._collapse(ordered, ranking)
        clock.lap("fuse")
        return ranking

    def _amendments(self, view: CatalogView) -> Amendments:
        if view not in self._amended:
            _keep(self._amended, view, amendments_in(view.documents, self._sections_of))
        return self._amended[view]

    def _sections_of(self, entry: ManifestEntry) -> frozenset[str]:
        for shard in self.shards:
            if entry in shard.entries:
                rows = shard.rows_of(frozenset({shard.entries.index(entry)}))
                return frozenset(str(key) for key in np.unique(shard.section[rows]))
        return frozenset()

    def _reporting(self, masks: dict[int, np.ndarray]) -> list[ManifestEntry]:
        """Return the documents that have rows in scope."""
        return [
            self.shards[position].entries[place]
            for position, mask in sorted(masks.items())
            for place in np.unique(self.shards[position].source[mask])
        ]

    def _lexical(
        self, scope: Scope, query: LexicalQuery, statistics: Statistics, restricted: bool
    ) -> list[tuple[Row, float]]:
        wanted = engine_query(query.engine_terms())
        depth = None if restricted else max(self.shard_depth, self._rows_scored // max(1, len(scope.shards)))
        matches = {
            position: self.shards[position].matching(wanted, rows, depth or self.shards[position].count)
            for position, rows in scope.shards.items()
        }
        scores = score_rows([(self.shards[p], rows) for p, rows in matches.items()], query, statistics)
        places = [(position, int(row)) for position, rows in matches.items() for row in rows]
        if len(scores) > CHANNEL_DEPTH:
            last = np.partition(scores, -CHANNEL_DEPTH)[-CHANNEL_DEPTH]
            kept = np.flatnonzero((scores >= last) & (scores > 0))
        else:
            kept = np.flatnonzero(scores > 0)
        found = [(places[i], float(scores[i])) for i in kept]
        return sorted(found, key=lambda item: (-item[1], self._fragment_key(item[0])))[:CHANNEL_DEPTH]

    def _vector(self, scope: Scope, masks: dict[int, np.ndarray], vector: np.ndarray) -> list[tuple[Row, float]]:
        """Return the rows nearest to `vector`: from memory where the scope's shards fit, else from the engine."""
        if self.matrices.fits(masks.keys(), len(vector)):
            near = nearest(self.matrices.of(masks.keys()), masks, vector, CHANNEL_DEPTH)
            found = [((position, row), similarity) for position, row, similarity in near]
        else:
            found = list(self._vector_from_engine(scope, vector))
        return sorted(found, key=lambda item: (-item[1], self._fragment_key(item[0])))[:CHANNEL_DEPTH]

    def _vector_from_engine(self, scope: Scope, vector: np.ndarray) -> Iterator[tuple[Row, float]]:
        place = {entry.set_code: position for position in scope.shards for entry in self.shards[position].entries}
        for hit in self.vectors.search(vector, scope.vectors, CHANNEL_DEPTH):
            position = place[hit.set_code]
            row = self.shards[position].row_of(hit.fragment_id)
            if row is None:
                raise FilterError(
                    f"the vector index returned fragment {hit.fragment_id}, which no shard of the version holds; "
                    "build the index again"
                )
            yield (position, row), hit.similarity

    def _assert_row(self, position: int, row: int, masks: dict[int, np.ndarray], view: CatalogView) -> None:
        shard = self.shards[position]
        inside = position in masks and masks[position][row]
        if not inside or shard.entry_of(row).source_id not in view.source_ids:
            raise FilterError(
                f"an engine returned row {row} of shard {shard.name[:12]}…, which the filters exclude; nothing was "
                "answered; build the index again"
            )

    def _fragment_key(self, row: Row) -> bytes:
        return bytes(self.shards[row[0]].ids[row[1]])

    def _collapse(self, ordered: Sequence[Row], ranking: _Ranking, depth: int = 50) -> list[Row]:
        """Return the rows without those that nearly repeat a better one of the same source, which are counted."""
        head, tail = list(ordered[:depth]), list(ordered[depth:])
        by_source: dict[tuple[int, int], list[Row]] = {}
        for row in head:
            by_source.setdefault((row[0], int(self.shards[row[0]].source[row[1]])), []).append(row)
        dropped = set()
        for rows in by_source.values():
            sets = [self.shards[position].distinct_terms(row) for position, row in rows]
            for row, same in zip(rows, near_duplicates(sets), strict=True):
                if rows[same] != row:
                    dropped.add(row)
                    ranking.duplicates[rows[same]] = ranking.duplicates.get(rows[same], 0) + 1
        return [row for row in head if row not in dropped] + tail

    def _rerank(self, question: str, rankings: list[_Ranking], notes: list[str]) -> None:
        for ranking in rankings:
            head = ranking.rows[:RERANK_DEPTH]
            texts = [self.shards[position].fragment(row).embedded_text for position, row in head]
            result = rerank(self.reranker, question, texts, self.rerank_seconds / len(rankings))
            if result.note:
                notes.append(result.note)
                continue
            ranking.rerank = dict(zip(head, result.scores, strict=True))
            head.sort(key=lambda row: (-ranking.rerank[row], self._fragment_key(row)))
            ranking.rows[: len(head)] = head

    def _merge(self, rankings: list[_Ranking], k: int) -> tuple[list[Candidate], list[Pair]]:
        """Take the results of all pairs in turn, so that none is pushed out; return also the pairs that came up empty
        in the joint ranking and got their places by this."""
        merged = interleave([ranking.rows for ranking in rankings], k)
        results = []
        for rank, (row, position) in enumerate(merged, 1):
            ranking = rankings[position]
            lexical, vector = ranking.lexical.get(row), ranking.vector.get(row)
            prior, reasons = ranking.priors[row]
            contributing = [name for name, hit in (("lexical", lexical), ("vector", vector)) if hit]
            results.append(
                Candidate(
                    rank=rank,
                    score=ranking.scores[row],
                    fragment=self.shards[row[0]].fragment(row[1]),
                    contributing=tuple(contributing),
                    pair=ranking.pair,
                    lexical_rank=lexical[0] if lexical else None,
                    lexical_score=lexical[1] if lexical else None,
                    vector_rank=vector[0] if vector else None,
                    vector_score=vector[1] if vector else None,
                    rerank_score=ranking.rerank.get(row),
                    duplicates=ranking.duplicates.get(row, 0),
                    prior=prior,
                    priors=reasons,
                )
            )
        return results, _repaired(rankings, k)


def _may_read(catalog: Catalog, reader: Principal, entry: ManifestEntry) -> bool:
    """Tell whether the rules in force open an entry; where the catalog does not know the source, those of the index."""
    source = catalog.sources.get(entry.source_id)
    return reader.may_read(entry.labels) if source is None else source.may_be_read_by(reader)


def _keep(kept: dict[Hashable, Any], key: Hashable, value: Any) -> None:
    if len(kept) >= _KEPT:
        kept.clear()
    kept[key] = value


def _repaired(rankings: list[_Ranking], k: int) -> list[Pair]:
    """Return the pairs that one joint ranking by score would have left without any of the first `k` places."""
    if len(rankings) < 2:
        return []
    joint = sorted(((-r.scores[row], row, p) for p, r in enumerate(rankings) for row in r.rows), key=lambda x: x[:2])
    present = {position for _, _, position in joint[:k]}
    return [ranking.pair for position, ranking in enumerate(rankings) if position not in present and ranking.rows]


def _lexical_query(plan: Plan) -> LexicalQuery:
    """The question's own terms, then what the lexicon adds: filings' wording of its metrics, and the titles and
    typical lines of the statements that show them. Weights were chosen on FinanceBench, where they may be
    moved by half without a difference that counts."""
    parts: list[tuple[Sequence[str], float]] = [(plan.ranking_query.split(), 1.0)]
    parts += [(terms(added), EXPANSION_WEIGHT) for _, expansion in plan.expansions for added in expansion]
    for name in plan.statements:
        statement = load_lexicon().statement(name)
        parts += [(terms(title), TITLE_WEIGHT) for title in statement.titles]
        parts += [(terms(line), LINE_WEIGHT) for line in statement.lines]
    return lexical_query(parts)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"as of {text!r} is no date; write YYYY-MM-DD") from None


def _filters(plan: Plan, principal: Principal, as_of: str | None) -> dict[str, list[str]]:
    found = {
        "company": list(plan.companies),
        "period": list(plan.periods),
        "form": list(plan.forms),
        "section": list(plan.sections),
        "role": list(plan.roles),
        "access": sorted(principal.groups),
        "as_of": [as_of] if as_of else [],
    }
    return {name: values for name, values in found.items() if values}


class _Clock:
    """Adds up milliseconds per named stretch."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._last = now()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Add the time since the last lap to `name`."""
        now = self._now()
        self.laps[name] = round(self.laps.get(name, 0.0) + (now - self._last) * 1000, 3)
        self._last = now


def open_index(
    store: Store,
    version: str | None = None,
    embedder: "Embedder | None" = None,
    reranker: Reranker | None = None,
) -> Index:
    """Open an index version (a unique prefix of its name suffices), by default the one that answers use.

    Raises StoreError where nothing is published, or no such version was built.
    """
    return Index(store, describe_index(store, resolve_version(store, version)), embedder, reranker)


__all__ = ["CHANNEL_DEPTH", "MODES", "FilterError", "Index", "open_index"]
