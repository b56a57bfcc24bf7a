"""Evaluations in the forms of others: a BEIR folder, TREC run and qrels, a RAGAS data set, Parquet."""

import json
from collections.abc import Sequence
from pathlib import Path

from finrag_pipelines.chunking.model import Fragment
from finrag_pipelines.evaluation.gold import LOCATED, GoldResolver, holding
from finrag_pipelines.evaluation.results import Evaluation, QuestionRow, to_parquet
from finrag_pipelines.evaluation.sets import EvalSet
from finrag_pipelines.evidence.records import AnswerRecord
from finrag_pipelines.retrieval.search import Index


def indexed_fragments(index: Index) -> tuple[Fragment, ...]:
    """Return every fragment of an index version, sorted by id."""
    found = [shard.fragment(row) for shard in index.shards for row in range(shard.count)]
    return tuple(sorted(found, key=lambda one: one.fragment_id))


def relevant_fragments(
    eval_set: EvalSet, resolver: GoldResolver, fragments: Sequence[Fragment]
) -> dict[str, tuple[str, ...]]:
    """Return, for each question with gold evidence, the ids of the fragments that hold it, sorted."""
    by_source: dict[str, list[Fragment]] = {}
    for one in fragments:
        by_source.setdefault(one.source_id, []).append(one)
    found: dict[str, tuple[str, ...]] = {}
    for question in eval_set.questions:
        located = [one for gold in question.gold if (one := resolver.locate(gold)).status == LOCATED]
        ids = {f.fragment_id for one in located for f in holding(one, by_source.get(one.gold.source_id, []))}
        if ids:
            found[question.id] = tuple(sorted(ids))
    return found


def write_beir(
    folder: Path, eval_set: EvalSet, relevant: dict[str, tuple[str, ...]], fragments: Sequence[Fragment]
) -> None:
    """Write `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`. The corpus is text of documents: mind its licence."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    corpus = ({"_id": f.fragment_id, "title": f.source_id, "text": f.text} for f in fragments)
    queries = ({"_id": one.id, "text": one.question} for one in eval_set.questions if one.id in relevant)
    (folder / "corpus.jsonl").write_text(_lines(corpus), "utf-8")
    (folder / "queries.jsonl").write_text(_lines(queries), "utf-8")
    rows = ["query-id\tcorpus-id\tscore"]
    rows += [f"{name}\t{one}\t1" for name, ids in sorted(relevant.items()) for one in ids]
    (folder / "qrels" / "test.tsv").write_text("\n".join(rows) + "\n", "utf-8")


def write_trec(folder: Path, records: dict[str, AnswerRecord], relevant: dict[str, tuple[str, ...]], tag: str) -> None:
    """Write `run.txt` and `qrels.txt`: fragments as documents, the rank's inverse as score, so that order is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    run = [
        f"{name} Q0 {row.fragment_id} {rank} {1 / rank:.9f} {tag}"
        for name, record in sorted(records.items())
        for rank, row in enumerate(
            sorted((one for one in record.candidates if one.stage == "retrieval"), key=lambda one: one.rank), start=1
        )
    ]
    qrels = [f"{name} 0 {one} 1" for name, ids in sorted(relevant.items()) for one in ids]
    (folder / "run.txt").write_text("".join(f"{line}\n" for line in run), "utf-8")
    (folder / "qrels.txt").write_text("".join(f"{line}\n" for line in qrels), "utf-8")


def write_ragas(
    path: Path, eval_set: EvalSet, records: dict[str, AnswerRecord], relevant: dict[str, tuple[str, ...]], index: Index
) -> None:
    """Write the answered questions as JSONL with the field names of RAGAS' single-turn samples."""
    texts = {one.fragment_id: one.text for one in indexed_fragments(index)}
    rows = []
    for question in eval_set.questions:
        record = records[question.id]
        if record.decision != "answered":
            continue
        delivered = [one.fragment_id for one in record.deliveries]
        rows.append(
            {
                "user_input": question.question,
                "response": record.answer,
                "reference": question.reference_answer,
                "retrieved_contexts": [texts[one] for one in delivered if one in texts],
                "retrieved_context_ids": delivered,
                "reference_contexts": [one.quote for one in question.gold],
                "reference_context_ids": list(relevant.get(question.id, ())),
            }
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_lines(rows), "utf-8")


def write_parquet(path: Path, evaluation: Evaluation) -> None:
    """Write the rows of an evaluation, one a question."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_parquet(evaluation.questions, QuestionRow))


def _lines(rows) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows)
