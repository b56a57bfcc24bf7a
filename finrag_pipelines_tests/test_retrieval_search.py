import json
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from finrag_pipelines.catalog.access import PUBLIC_PRINCIPAL, Principal
from finrag_pipelines.indexing.analyzer import phrases, terms
from finrag_pipelines.indexing.build import describe_index
from finrag_pipelines.indexing.matrices import nearest
from finrag_pipelines.indexing.publication import current_version
from finrag_pipelines.retrieval.bm25 import lexical_query, score_rows
from finrag_pipelines.retrieval.fusion import interleave, near_duplicates, reciprocal_rank_fusion
from finrag_pipelines.retrieval.model import Pair
from finrag_pipelines.retrieval.search import MODES, VECTOR_WEIGHT, Index, open_index
from finrag_pipelines.storage import Store
from finrag_pipelines_tests.small_corpus import CORPUS, EMBEDDER, MEMO_TEXT, Document, Passage, build, fragments_of

RESEARCH = Principal("ann", frozenset({"public", "research"}))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The small corpus, built and opened once."""
    store = Store(tmp_path_factory.mktemp("search"))
    build(store, CORPUS)
    return open_index(store, embedder=EMBEDDER)


def sources(response) -> list[str]:
    return [candidate.fragment.source_id for candidate in response.results]


def test_the_ratio_of_the_quarter_is_found_and_no_other_quarter_or_company(index: Index) -> None:
    response = index.search("Progressive combined ratio Q3 2024")
    assert "89.0" in response.results[0].fragment.text
    assert set(sources(response)) == {"PGR_10-Q_2024Q3"}
    assert response.trace.plan.ranking_query == "combined ratio"
    assert response.trace.filters == {"company": ["PGR"], "period": ["2024Q3"], "access": ["public"]}
    assert response.trace.candidate_count == 3


@pytest.mark.parametrize("mode", MODES)
def test_every_pair_of_a_comparison_has_its_places(index: Index, mode: str) -> None:
    response = index.search(
        "How did KO, PEP, and MDLZ each describe commodity cost pressure in Q1 2026?", k=3, mode=mode
    )
    assert {candidate.pair for candidate in response.results} == {Pair(c, "2026Q1") for c in ("KO", "PEP", "MDLZ")}
    assert all(candidate.fragment.company == candidate.pair.company for candidate in response.results)


def test_a_pair_that_a_joint_ranking_would_leave_out_is_repaired_and_said(tmp_path: Path) -> None:
    text = "Commodity costs rose and commodity inflation pressed the margin in region {}."
    rich = Document(
        "KO_10-Q_2026Q1",
        tuple(Passage(text.format(n) + f" Detail {n * 7919}") for n in range(8)),
        "KO",
        "The Coca-Cola Company",
        "10-Q",
        "2026Q1",
    )
    poor = Document("PEP_10-Q_2026Q1", (Passage("Snacks grew."),), "PEP", "PepsiCo, Inc.", "10-Q", "2026Q1")
    store = Store(tmp_path)
    build(store, (rich, poor))
    response = open_index(store, embedder=EMBEDDER).search("commodity costs of KO and PEP in Q1 2026", k=4)
    assert "PEP_10-Q_2026Q1" in sources(response)
    assert response.trace.repairs == (Pair("PEP", "2026Q1"),)


def test_a_word_that_is_a_ticker_draws_no_company_in(index: Index) -> None:
    response = index.search("all combined ratio Q3 2024")
    assert response.trace.plan.companies == ()
    assert {"PGR_10-Q_2024Q3", "ALL_10-Q_2024Q3"} <= set(sources(response))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("question", ["Coca-Cola pricing power memo", MEMO_TEXT, "What does the memo say on KO?"])
def test_a_restricted_memo_is_found_by_its_readers_alone(index: Index, mode: str, question: str) -> None:
    assert "memo_beverages" not in sources(index.search(question, PUBLIC_PRINCIPAL, 50, mode))
    assert sources(index.search(question, RESEARCH, 50, mode))[0] == "memo_beverages"


def test_what_a_principal_may_not_read_does_not_move_a_score(index: Index, tmp_path: Path) -> None:
    without = Store(tmp_path)
    build(without, tuple(document for document in CORPUS if document.labels == ("public",)))
    question = "Coca-Cola pricing power and commodity costs"
    seen = index.search(question, PUBLIC_PRINCIPAL, 20)
    plain = open_index(without, embedder=EMBEDDER).search(question, PUBLIC_PRINCIPAL, 20)
    assert seen.results == plain.results
    assert seen.trace.plan == plain.trace.plan
    assert seen.trace.candidate_count == plain.trace.candidate_count


def test_a_withheld_source_is_not_found_whatever_its_labels(index: Index) -> None:
    hidden = frozenset({"PGR_10-Q_2024Q3"})
    response = index.search("Progressive combined ratio Q3 2024", excluded=hidden)
    assert response.results == ()
    assert response.trace.candidate_count == 0


def test_as_of_hides_what_was_filed_later(index: Index) -> None:
    response = index.search("KO commodity costs", as_of="2025-12-31", k=20)
    assert set(sources(response)) == {"KO_10-Q_2025Q3"}


def test_what_bears_no_filing_date_is_known_from_its_event_or_the_end_of_its_period(tmp_path: Path) -> None:
    text = (Passage("Commodity costs rose."),)
    documents = [
        Document("KO_10-Q_2025Q3", text, "KO", "The Coca-Cola Company", "10-Q", "2025Q3"),
        Document("KO_10-Q_2026Q1", text, "KO", "The Coca-Cola Company", "10-Q", "2026Q1"),
        Document("notice", text, None, None, "fund_announcement", None, event_dates=("2026-03-12",)),
    ]
    store = Store(tmp_path)
    build(store, documents)
    index = open_index(store, embedder=EMBEDDER)
    assert set(sources(index.search("commodity costs", as_of="2025-12-31"))) == {"KO_10-Q_2025Q3"}
    assert len(sources(index.search("commodity costs", as_of="2026-03-31"))) == 3
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        index.search("commodity costs", as_of="last week")


def test_an_unknown_company_is_said_and_not_searched_around(index: Index) -> None:
    response = index.search("What is Tesla's revenue in Q1 2026?")
    assert response.results == ()
    assert response.trace.plan.unknown_companies == ("Tesla",)


def test_a_period_outside_the_corpus_finds_nothing_and_is_said(index: Index) -> None:
    response = index.search("KO commodity costs in Q1 2019")
    assert response.results == ()
    assert any("2019Q1" in note for note in response.trace.notes)


def test_a_quarter_without_a_filing_of_its_own_is_found_in_the_annual_report(index: Index) -> None:
    response = index.search("What dividends did KO declare in Q2 of FY2025?")
    assert "Dividends of $0.51" in response.results[0].fragment.text
    assert set(sources(response)) == {"KO_10-K_FY2025"}


def test_a_prior_year_is_found_in_the_filing_that_reports_it(index: Index) -> None:
    response = index.search("KO capex in FY2024")
    assert [candidate.fragment.page_index for candidate in response.results] == [60]


def test_a_section_and_a_speaker_filter_and_are_given_up_where_nothing_bears_them(index: Index) -> None:
    risks = index.search("What risk factors does Coca-Cola list?")
    assert {candidate.fragment.section for candidate in risks.results} == {"Item 1A"}
    spoken = index.search("What did PepsiCo's CFO say about margin in Q1 2026?")
    assert {candidate.fragment.role for candidate in spoken.results} == {"chief_financial_officer"}
    absent = index.search("What risk factors does Progressive list in Q3 2024?")
    assert set(sources(absent)) == {"PGR_10-Q_2024Q3"}
    assert any("Item 1A" in note for note in absent.trace.notes)


def test_a_memo_is_found_by_its_subject_and_a_notice_by_its_date(index: Index) -> None:
    assert sources(index.search("What does our memo conclude on PEP?", RESEARCH)) == ["memo_beverages"]
    notice = index.search("distribution with record date March 12, 2026")
    assert sources(notice)[0] == "fund_2026-03-12"
    assert notice.results[0].priors == ("date",)


HOSTILE = (
    "",
    "?",
    "x " * 5_000,
    "Item 7: MD&A",
    'P&L [FY2022] "open quote',
    "10-K -risk +cost AND (OR) NOT",
    "words:memo OR labels:research",
    "' OR '1'='1",
    "set_code IN (1) OR true; DROP TABLE x; --",
    "*",
    "可口可乐的成本",
    "🙂 ٣ ಠ_ಠ \u202e \ud800",
    "a_b_c _ __",
)


@pytest.mark.parametrize("question", HOSTILE)
@pytest.mark.parametrize("mode", MODES)
def test_user_text_is_never_a_query_language(index: Index, question: str, mode: str) -> None:
    response = index.search(question, PUBLIC_PRINCIPAL, 50, mode)
    assert "memo_beverages" not in sources(response)
    assert response.results or response.trace.notes


def test_each_candidate_says_where_it_came_from(index: Index) -> None:
    response = index.search("sweeteners and aluminium", k=30)
    for candidate in response.results:
        named = [
            name for name, rank in (("lexical", candidate.lexical_rank), ("vector", candidate.vector_rank)) if rank
        ]
        assert list(candidate.contributing) == named
        expected = sum(1 / (60 + rank) for rank in (candidate.lexical_rank, candidate.vector_rank) if rank)
        assert candidate.score == pytest.approx(expected)
    assert any(candidate.contributing == ("lexical", "vector") for candidate in response.results)
    assert [candidate.rank for candidate in response.results] == list(range(1, len(response.results) + 1))
    assert index.search("sweeteners and aluminium", mode="lexical").results[0].contributing == ("lexical",)


def test_a_score_is_the_fused_ranks_times_the_factors_that_are_named(index: Index) -> None:
    factors = {"filing_period": 1.25, "date": 1.25, "section": 1.15, "no_section": 1.15, "other_section": 1.15**0.5}
    seen = set()
    for question in ("KO capex in FY2025", "distribution with record date March 12, 2026", "gross margin of PEP"):
        for candidate in index.search(question, k=30).results:
            weight = VECTOR_WEIGHT if candidate.pair.company else 1.0
            ranks = ((1.0, candidate.lexical_rank), (weight, candidate.vector_rank))
            fused = sum(weight / (60 + rank) for weight, rank in ranks if rank)
            assert candidate.prior == pytest.approx(math.prod(factors[name] for name in candidate.priors))
            assert candidate.score == pytest.approx(fused * candidate.prior)
            seen |= set(candidate.priors)
    assert {"filing_period", "date", "section"} <= seen


def test_vectors_searched_in_memory_and_by_the_engine_give_the_same_candidates(index: Index) -> None:
    by_engine = Index(index.store, index.description, EMBEDDER, vector_memory=0)
    for question in ("KO commodity costs in Q1 2026", "commodity costs", "What risk factors does Coca-Cola list?"):
        here, there = (one.search(question, RESEARCH, 30, "vector").results for one in (index, by_engine))
        assert [c.fragment for c in here] == [c.fragment for c in there]
        assert [c.vector_score for c in here] == pytest.approx([c.vector_score for c in there], abs=1e-6)


@pytest.mark.parametrize("copies", [1, 30])
def test_the_nearest_rows_are_those_of_double_precision_whatever_the_first_pass_rounds(copies: int) -> None:
    rng = np.random.default_rng(5)
    matrices = {position: np.repeat(rng.standard_normal((40, 24)), copies, axis=0) for position in (0, 2, 5)}
    matrices = {p: (m / np.linalg.norm(m, axis=1)[:, None]).astype(np.float32) for p, m in matrices.items()}
    masks = {position: rng.random(len(matrix)) < 0.7 for position, matrix in matrices.items()}
    vector = matrices[2][3]
    found = nearest(matrices, masks, vector, 20)
    exact = sorted(
        (-float((matrix[row].astype(np.float64) * vector.astype(np.float64)).sum()), position, row)
        for position, matrix in matrices.items()
        for row in np.flatnonzero(masks[position]).tolist()
    )
    tied = [one for one in exact if one[0] <= exact[19][0]][:84]
    assert [(position, row, -similarity) for similarity, position, row in tied] == found
    assert nearest(matrices, {p: np.zeros(len(m), bool) for p, m in matrices.items()}, vector, 20) == []


def test_without_a_scope_each_shard_gives_its_best_rows_only(index: Index) -> None:
    shallow = Index(index.store, index.description, EMBEDDER, shard_depth=1, rows_scored=1)
    found = shallow.search("commodity costs", k=50, mode="lexical").results
    assert len(found) <= len(index.readable(PUBLIC_PRINCIPAL))
    whole = {(c.fragment.fragment_id, c.lexical_score) for c in index.search("commodity costs", k=50).results}
    assert {(c.fragment.fragment_id, c.lexical_score) for c in found} <= whole
    scoped = [one.search("KO commodity costs", k=50, mode="lexical").results for one in (shallow, index)]
    assert scoped[0] == scoped[1]


def independent_bm25(documents: list[list[str]], query: list[str], k1: float = 1.5, b: float = 0.75) -> list[float]:
    """BM25 as its formula reads, with nothing shared with the code under test."""
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        counts, score = Counter(document), 0.0
        for term in dict.fromkeys(query):
            df = sum(term in other for other in documents)
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            tf = counts[term]
            score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(document) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize("principal", [PUBLIC_PRINCIPAL, RESEARCH])
def test_scores_are_bm25_of_words_and_phrases_over_everything_readable(index: Index, principal: Principal) -> None:
    readable = [d for d in CORPUS if principal.may_read(d.labels)]
    fragments = [fragment for document in readable for fragment in fragments_of(document)]
    words = [terms(fragment.embedded_text) for fragment in fragments]
    query = terms("commodity cost pressure on the combined ratio and gross margin, quarter against quarter")
    expected = {
        fragment.fragment_id: score + 1.5 * phrase_score
        for fragment, score, phrase_score in zip(
            fragments,
            independent_bm25(words, query),
            independent_bm25([phrases(each) for each in words], phrases(query)),
            strict=True,
        )
    }
    found = {}
    for position in index.readable(principal):
        shard = index.shards[position]
        asked, statistics = lexical_query([(query, 1.0)]), index.statistics(principal)
        scores = score_rows([(shard, np.arange(shard.count))], asked, statistics)
        found |= {shard.ids[row].decode(): score for row, score in enumerate(scores)}
        some = np.arange(0, shard.count, 2)
        part = score_rows([(shard, some), (shard, np.arange(0)), (shard, some)], asked, statistics)
        assert part == pytest.approx([*scores[some], *scores[some]])
    assert found == pytest.approx(expected)


def test_rank_fusion_adds_reciprocal_ranks() -> None:
    scores = reciprocal_rank_fusion({"lexical": ["a", "b"], "vector": ["b", "c"]})
    assert scores == {"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62}
    weighted = reciprocal_rank_fusion({"lexical": ["a"], "vector": ["b", "a"]}, {"vector": 0.5})
    assert weighted == {"a": 1 / 61 + 0.5 / 62, "b": 0.5 / 61}


def test_rankings_take_turns_and_no_item_comes_twice() -> None:
    assert interleave([["a", "b", "c"], ["b", "d"], []], 4) == [("a", 0), ("b", 1), ("c", 0), ("d", 1)]


def test_rows_that_nearly_repeat_a_better_one_point_to_it() -> None:
    first, other = np.arange(40), np.arange(100, 140)
    nearly = np.append(np.arange(39), 99)
    assert near_duplicates([first, other, nearly, first]) == [0, 1, 0, 0]


def test_repetition_inside_a_source_is_collapsed_and_between_sources_is_not(tmp_path: Path) -> None:
    boiler = "Forward-looking statements involve risks and uncertainties that may cause results to differ materially."
    documents = [
        Document(
            f"{company}_10-Q_2026Q1",
            (Passage(boiler), Passage(boiler), Passage(f"Sales of {company} grew.")),
            company,
            name,
            "10-Q",
            "2026Q1",
        )
        for company, name in (("KO", "The Coca-Cola Company"), ("PEP", "PepsiCo, Inc."))
    ]
    store = Store(tmp_path)
    build(store, documents)
    response = open_index(store, embedder=EMBEDDER).search("forward-looking statements risks Q1 2026", k=10)
    repeated = [candidate for candidate in response.results if candidate.fragment.text == boiler]
    assert sorted(candidate.fragment.company for candidate in repeated) == ["KO", "PEP"]
    assert [candidate.duplicates for candidate in repeated] == [1, 1]


def canonical(response) -> str:
    value = asdict(response)
    del value["trace"]["timings_ms"]
    return json.dumps(value, sort_keys=True)


QUESTIONS = (
    "How did KO, PEP, and MDLZ each describe commodity pressure in Q1 2026?",
    "commodity costs",
    "Progressive combined ratio Q3 2024",
)


def test_the_same_question_gives_the_same_bytes_again(index: Index) -> None:
    for question in QUESTIONS:
        assert len({canonical(index.search(question, RESEARCH)) for _ in range(20)}) == 1


def test_the_same_question_gives_the_same_bytes_in_other_processes_and_thread_counts(index: Index) -> None:
    code = (
        "import sys, pathlib\n"
        "from finrag_pipelines_tests.test_retrieval_search import *\n"
        "index = open_index(Store(pathlib.Path(sys.argv[1])), embedder=EMBEDDER)\n"
        "print([canonical(index.search(question, RESEARCH)) for question in QUESTIONS])\n"
    )
    root = Path(__file__).resolve().parents[1]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(index.store.root)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": threads, "LANCE_CPU_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert outputs == {f"{[canonical(index.search(question, RESEARCH)) for question in QUESTIONS]}\n"}


class BackwardsReranker:
    """Likes what fusion liked least, so that its effect is seen."""

    name = "backwards"

    def __init__(self) -> None:
        self.calls = 0

    def scores(self, question: str, texts: list[str]) -> list[float]:
        self.calls += 1
        return [float(self.calls * 100 + position) for position in range(len(texts))]


class FailingReranker(BackwardsReranker):
    name = "failing"

    def scores(self, question: str, texts: list[str]) -> list[float]:
        raise RuntimeError("out of memory")


def test_a_reranker_reorders_what_fusion_found_and_nothing_else(index: Index) -> None:
    question = "commodity costs of KO in Q1 2026"
    plain = index.search(question, k=50)
    other = Index(index.store, index.description, EMBEDDER, BackwardsReranker())
    response = other.search(question, k=50, mode="hybrid+rerank")
    assert [c.fragment for c in response.results] == [c.fragment for c in reversed(plain.results)]
    assert all(candidate.rerank_score is not None for candidate in response.results)
    assert [candidate.score for candidate in response.results] == [c.score for c in reversed(plain.results)]


@pytest.mark.parametrize(
    ("reranker", "seconds", "words"),
    [(None, 30.0, "No reranker"), (FailingReranker(), 30.0, "out of memory"), (BackwardsReranker(), -1.0, "took more")],
)
def test_without_a_working_reranker_the_order_of_fusion_stands_and_the_trace_says_so(
    index: Index, reranker: BackwardsReranker | None, seconds: float, words: str
) -> None:
    other = Index(index.store, index.description, EMBEDDER, reranker, rerank_seconds=seconds)
    response = other.search("commodity costs", mode="hybrid+rerank")
    assert response.results == index.search("commodity costs").results
    assert any(words in note for note in response.trace.notes)


@pytest.mark.slow
def test_a_real_cross_encoder_s_logits_are_kept_and_repeat(index: Index, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, set_seed

    from finrag_pipelines.retrieval.rerank import CrossEncoderReranker

    set_seed(0)
    vocabulary = {word: n for n, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "commodity", "costs", "rose"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    config = BertConfig(
        vocab_size=8, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=1
    )
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    fast.save_pretrained(tmp_path)
    assert CrossEncoder(str(tmp_path), local_files_only=True)
    other = Index(index.store, index.description, EMBEDDER, CrossEncoderReranker(str(tmp_path)))
    first, again = (other.search("commodity costs", mode="hybrid+rerank") for _ in range(2))
    scores = [candidate.rerank_score for candidate in first.results]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 1
    assert first.results == again.results


def test_an_engine_that_returned_a_foreign_row_would_stop_the_search(index: Index, monkeypatch) -> None:
    from finrag_pipelines.indexing.shard import Shard
    from finrag_pipelines.retrieval.search import FilterError

    monkeypatch.setattr(Shard, "matching", lambda self, query, rows, limit: np.arange(self.count))
    with pytest.raises(FilterError, match="filters exclude"):
        index.search("KO commodity costs in Q1 2026", mode="lexical")


def test_an_index_of_another_model_is_not_searched_by_vectors(index: Index) -> None:
    from finrag_pipelines.embedding.hashing import HashingEmbedder
    from finrag_pipelines.storage import StoreError

    other = Index(index.store, describe_index(index.store, current_version(index.store) or ""), HashingEmbedder(128))
    assert other.search("KO commodity costs", mode="lexical").results
    with pytest.raises(StoreError, match="was built with the embedding model"):
        other.search("KO commodity costs")


def test_an_unknown_mode_is_refused_by_name(index: Index) -> None:
    with pytest.raises(ValueError, match="choose one of lexical, vector, hybrid"):
        index.search("KO", mode="fuzzy")
