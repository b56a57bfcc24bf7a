"""BM25 over two fields, words and phrases, with the statistics of everything the principal may read.

Score of a row = Σ over query terms of weight · idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / mean length)),
with idf = ln(1 + (N − df + 0.5) / (df + 0.5)), each field with frequencies and lengths of its own
(Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; the idf is Lucene's, never negative).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finrag_pipelines.indexing.analyzer import phrases
from finrag_pipelines.indexing.shard import PHRASES, WORDS, Shard, ShardPart, term_hash

K1 = 1.5
B = 0.75
WORD_WEIGHT = 1.0
PHRASE_WEIGHT = 1.5


@dataclass(frozen=True)
class LexicalQuery:
    """Terms to be scored with their weights: words, and phrases as tuples of two or three words."""

    words: tuple[tuple[str, float], ...] = ()
    phrases: tuple[tuple[tuple[str, ...], float], ...] = ()

    def engine_terms(self) -> list[tuple[str, str, float]]:
        """Return what the engine is asked for: (field, term, weight)s. Phrases add no rows that their words do not
        find; the question's own bring the engine's order near to ours where it has to cut."""
        words = [(WORDS, word, WORD_WEIGHT * weight) for word, weight in self.words]
        own = [(phrase, weight) for phrase, weight in self.phrases if weight >= 1.0]
        return words + [(PHRASES, "_".join(phrase), PHRASE_WEIGHT * weight) for phrase, weight in own]


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
    """Document frequencies and mean lengths over a set of shards, whole or in part: what one principal may read."""

    def __init__(self, shards: Sequence[Shard | ShardPart]) -> None:
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


def score_rows(
    candidates: Sequence[tuple[Shard, np.ndarray]], query: LexicalQuery, statistics: Statistics
) -> np.ndarray:
    """Return the BM25 scores of rows (sorted row numbers) of shards, all after one another, as float64."""
    count = sum(len(rows) for _, rows in candidates)
    scores = np.zeros(count)
    if not count or not query.words:
        return scores
    code_of = {word: code for code, (word, _) in enumerate(query.words, 1)}
    codes, lengths = _query_codes(candidates, list(code_of))
    starts_of = (np.cumsum(lengths) - lengths).astype(np.int64)
    hit = np.flatnonzero(codes != 0)
    row_of = np.searchsorted(starts_of, hit, side="right") - 1
    hit_codes = codes[hit].astype(np.int64)
    width = len(code_of) + 1

    counts = np.bincount(hit_codes * count + row_of, minlength=count * width).reshape(width, count)
    norm = K1 * (1 - B + B * lengths / (statistics.mean_words or 1.0))
    for word, weight in query.words:
        tf = counts[code_of[word]]
        if tf.any():
            scores += WORD_WEIGHT * weight * statistics.idf(WORDS, word) * tf * (K1 + 1) / (tf + norm)

    wanted = [(phrase, weight) for phrase, weight in query.phrases if all(word in code_of for word in phrase)]
    if not wanted:
        return scores
    # A phrase is a run of hits at neighbouring places of one row: two make a bigram, three a trigram.
    follows = np.append((hit[1:] == hit[:-1] + 1) & (row_of[1:] == row_of[:-1]), False)
    first = np.flatnonzero(follows)
    pairs = hit_codes[first] * width + hit_codes[first + 1]
    triples = np.where(follows[first + 1], pairs * width + hit_codes[np.minimum(first + 2, len(hit) - 1)], -1)
    norm = K1 * (1 - B + B * _phrase_lengths(lengths) / (statistics.mean_phrases or 1.0))
    for phrase, weight in wanted:
        key = code_of[phrase[0]] * width + code_of[phrase[1]]
        same = pairs == key if len(phrase) == 2 else triples == key * width + code_of[phrase[2]]
        if not same.any():
            continue
        tf = np.bincount(row_of[first[same]], minlength=count)
        idf = statistics.idf(PHRASES, "_".join(phrase))
        scores += PHRASE_WEIGHT * weight * idf * tf * (K1 + 1) / (tf + norm)
    return scores


def _phrase_lengths(lengths: np.ndarray) -> np.ndarray:
    """The number of bigrams and trigrams of rows with so many words."""
    return np.maximum(lengths - 1, 0) + np.maximum(lengths - 2, 0)


def _query_codes(candidates: Sequence[tuple[Shard, np.ndarray]], words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return, for all terms of the rows in order, the number of the query word (from 1; 0 for other terms), and the
    number of terms of each row as float64."""
    names = np.array([term_hash(word) for word in words], dtype=np.uint64)
    numbers = np.arange(1, len(words) + 1)
    found, lengths = [], []
    for shard, rows in candidates:
        if not len(rows):
            continue
        code_of_term = np.zeros(len(shard.vocabulary) + 1, dtype=np.uint16)
        places = np.searchsorted(shard.vocabulary, names)
        known = shard.vocabulary[np.minimum(places, len(shard.vocabulary) - 1)] == names
        code_of_term[places[known]] = numbers[known]
        starts = shard.term_bounds[rows]
        length = shard.term_bounds[rows + 1] - starts
        lengths.append(length)
        if len(rows) == shard.count:
            found.append(code_of_term[shard.terms])
        else:
            spread = np.repeat((starts - (np.cumsum(length) - length)).astype(np.int32), length)
            spread += np.arange(len(spread), dtype=np.int32)
            found.append(code_of_term[shard.terms[spread]])
    return np.concatenate(found), np.concatenate(lengths).astype(np.float64)
