"""BM25 over two fields, words and phrases, with the statistics of everything the principal may read.

Score of a row = Σ over query terms of weight · idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / mean length)),
with idf = ln(1 + (N − df + 0.5) / (df + 0.5)), each field with frequencies and lengths of its own
(Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; the idf is Lucene's, never negative).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finrag_pipelines.indexing.analyzer import phrases
from finrag_pipelines.indexing.shard import PHRASES, WORDS, Shard, term_hash

K1 = 1.5
B = 0.75
WORD_WEIGHT = 1.0
PHRASE_WEIGHT = 1.5


@dataclass(frozen=True)
class LexicalQuery:
    """Terms to be scored with their weights: words, and phrases as tuples of two or three words."""

    words: tuple[tuple[str, float], ...] = ()
    phrases: tuple[tuple[tuple[str, ...], float], ...] = ()

    def engine_terms(self) -> list[tuple[str, str]]:
        """Return what the engine is asked for: (field, term)s. Phrases add no rows that their words do not find."""
        return [(WORDS, word) for word, _ in self.words]


def lexical_query(parts: Sequence[tuple[Sequence[str], float]]) -> LexicalQuery:
    """Return the query for sequences of terms, each with its weight; a term in several takes the largest weight."""
    words: dict[str, float] = {}
    grams: dict[tuple[str, ...], float] = {}
    for sequence, weight in parts:
        for word in sequence:
            words[word] = max(weight, words.get(word, 0.0))
        for phrase in phrases(list(sequence)):
            key = tuple(phrase.split("_"))
            grams[key] = max(weight, grams.get(key, 0.0))
    return LexicalQuery(tuple(sorted(words.items())), tuple(sorted(grams.items())))


class Statistics:
    """Document frequencies and mean lengths over a set of shards: those that one principal may read."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = tuple(shards)
        self.rows = sum(shard.count for shard in shards)
        self.mean_words = sum(shard.word_total for shard in shards) / self.rows if self.rows else 0.0
        self.mean_phrases = sum(shard.phrase_total for shard in shards) / self.rows if self.rows else 0.0
        self._idf: dict[tuple[str, str], float] = {}

    def idf(self, field: str, term: str) -> float:
        """Return the inverse document frequency of a term in a field."""
        found = self._idf.get((field, term))
        if found is None:
            frequency = sum(shard.doc_freq(field, term) for shard in self.shards)
            found = float(np.log1p((self.rows - frequency + 0.5) / (frequency + 0.5)))
            if len(self._idf) > 100_000:
                self._idf.clear()
            self._idf[field, term] = found
        return found


def score_rows(shard: Shard, rows: np.ndarray, query: LexicalQuery, statistics: Statistics) -> np.ndarray:
    """Return the BM25 score of each of `rows` (sorted row numbers) of `shard`, as float64."""
    scores = np.zeros(len(rows))
    if not len(rows) or not query.words:
        return scores
    code_of = {word: code for code, (word, _) in enumerate(query.words, 1)}
    codes, row_of = _query_codes(shard, rows, list(code_of))
    lengths = (shard.term_bounds[rows + 1] - shard.term_bounds[rows]).astype(np.float64)
    width = len(code_of) + 1

    hit = np.flatnonzero(codes)
    counts = np.bincount(row_of[hit] * width + codes[hit], minlength=len(rows) * width).reshape(len(rows), width)
    norm = K1 * (1 - B + B * lengths / (statistics.mean_words or 1.0))
    for word, weight in query.words:
        tf = counts[:, code_of[word]]
        scores += WORD_WEIGHT * weight * statistics.idf(WORDS, word) * tf * (K1 + 1) / (tf + norm)

    wanted = [(phrase, weight) for phrase, weight in query.phrases if all(word in code_of for word in phrase)]
    if not wanted:
        return scores
    starts = hit[:-1][(hit[1:] == hit[:-1] + 1) & (row_of[hit[1:]] == row_of[hit[:-1]])]
    pairs = codes[starts].astype(np.int64) * width + codes[starts + 1]
    third = np.zeros(len(starts), dtype=np.int64)
    inside = starts + 2 < len(codes)
    same = np.zeros(len(starts), dtype=bool)
    same[inside] = row_of[starts[inside] + 2] == row_of[starts[inside]]
    third[same] = codes[starts[same] + 2]
    triples = np.where(third > 0, pairs * width + third, -1)
    norm = K1 * (1 - B + B * _phrase_lengths(lengths) / (statistics.mean_phrases or 1.0))
    for phrase, weight in wanted:
        a, b = code_of[phrase[0]], code_of[phrase[1]]
        key = a * width + b
        found = starts[pairs == key] if len(phrase) == 2 else starts[triples == key * width + code_of[phrase[2]]]
        if not len(found):
            continue
        tf = np.bincount(row_of[found], minlength=len(rows))
        idf = statistics.idf(PHRASES, "_".join(phrase))
        scores += PHRASE_WEIGHT * weight * idf * tf * (K1 + 1) / (tf + norm)
    return scores


def _phrase_lengths(lengths: np.ndarray) -> np.ndarray:
    """The number of bigrams and trigrams of rows with so many words."""
    return np.maximum(lengths - 1, 0) + np.maximum(lengths - 2, 0)


def _query_codes(shard: Shard, rows: np.ndarray, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return, for all terms of `rows` in order, the number of the query word (from 1; 0 for other terms), and the
    position in `rows` of the row it stands in."""
    vocabulary, bounds = shard.vocabulary, shard.term_bounds
    code_of_term = np.zeros(len(vocabulary) + 1, dtype=np.int32)
    names = np.array([term_hash(word) for word in words], dtype=np.uint64)
    places = np.searchsorted(vocabulary, names)
    for code, (place, name) in enumerate(zip(places, names, strict=True), 1):
        if place < len(vocabulary) and vocabulary[place] == name:
            code_of_term[place] = code
    starts, ends = bounds[rows], bounds[rows + 1]
    lengths = ends - starts
    if len(rows) == shard.count:
        sequence = np.asarray(shard.terms)
    else:
        before = np.cumsum(lengths) - lengths
        sequence = shard.terms[np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))]
    return code_of_term[sequence], np.repeat(np.arange(len(rows)), lengths)
