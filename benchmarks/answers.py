"""Are the answers right? The eval sets on the sample corpus, and FinanceBench questions on real filings.

Prints a table and writes .bench/answers.json. FinanceBench is skipped with a note where its files are absent. Its
number questions are judged by script; the others by `financebench_verdicts.tsv`, whose verdicts hold for one text of
the answer only: a changed answer is "to be read". Run with `make bench-answers`; the stores are kept between runs.
"""

import argparse
import csv
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from finrag_pipelines import pipeline
from finrag_pipelines.answering.answer import answer_question
from finrag_pipelines.answering.documents import Documents
from finrag_pipelines.answering.model import ANSWERED, AnswerConfig
from finrag_pipelines.answering.numbers import amounts
from finrag_pipelines.catalog.catalog import define_principal, read_catalog
from finrag_pipelines.embedding import open_embedder
from finrag_pipelines.evaluation.answer_metrics import numeric_match
from finrag_pipelines.evaluation.sets import EvalSet, Question, read_set, set_names
from finrag_pipelines.evidence.records import AnswerRecord
from finrag_pipelines.ingestion.folder import find_documents, read_principals
from finrag_pipelines.ingestion.receive import receive_file
from finrag_pipelines.retrieval.search import Index, open_index
from finrag_pipelines.storage import Store, canonical_json, sha256_text, write_file

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "data" / "sample"
EVAL_SETS = ROOT / "eval_sets"
CORPUS = ROOT.parent / "shared" / "corpus" / "financebench"
VERDICTS = Path(__file__).with_name("financebench_verdicts.tsv")
PUBLISHED = "GPT-4-Turbo with a shared vector store, of 150: 29 right, 20 wrong, 101 refused (FinanceBench, 2023)"


@dataclass(frozen=True)
class SetScore:
    """What one eval set came to. Counts are questions; `numbers` is the mean share of the reference's numbers."""

    name: str
    questions: int
    decisions: int
    codes: int
    answerable: int
    gold_cited: int
    numbers: float | None
    answered_unanswerable: int
    faults: tuple[str, ...]


@dataclass(frozen=True)
class Judged:
    """A FinanceBench question with its verdict: right, incomplete, wrong, refused or to be read."""

    question_id: str
    verdict: str
    by: str
    answer_sha256: str
    refusal_code: str | None = None


class Corpus:
    """A store with published documents, ready to be asked."""

    def __init__(self, folder: Path, sources: Sequence[Path], embedder_name: str) -> None:
        self.store = Store(folder)
        embedder = open_embedder(embedder_name)
        for source in sources:
            if source.is_dir():
                for name, groups in read_principals(source).items():
                    define_principal(self.store, name, groups)
        for path in find_documents(list(sources)):
            receive_file(self.store, path)
        for source_id in sorted(read_catalog(self.store).sources):
            for stage in (pipeline.register, pipeline.represent, pipeline.fragment):
                stage(self.store, source_id)
            pipeline.embed(self.store, source_id, embedder)
        pipeline.build_manifest(self.store)
        pipeline.publish_index(self.store, embedder)
        self.index: Index = open_index(self.store, embedder=embedder)
        self.documents = Documents(self.store)

    def ask(self, text: str, principal: str = "public", as_of: str | None = None) -> AnswerRecord:
        """Answer one question with the extractive generator."""
        who = self.documents.catalog.principal(principal)
        return answer_question(self.index, self.store, text, who, AnswerConfig(), as_of, self.documents)


def score_set(corpus: Corpus, eval_set: EvalSet) -> SetScore:
    """Ask every question of a set."""
    rows = [(one, corpus.ask(one.question, one.principal, one.as_of)) for one in eval_set.questions]
    faults = [f"{one.id}: {fault}" for one, record in rows if (fault := _fault(one, record))]
    answered = [(one, record) for one, record in rows if one.answerable and record.decision == ANSWERED]
    shares = [
        share for one, record in answered if (share := numeric_match(one.reference_answer, record.answer)) is not None
    ]
    return SetScore(
        name=eval_set.name,
        questions=len(rows),
        decisions=sum(_decided(one, record) for one, record in rows),
        codes=sum(record.refusal_code == one.refusal_code for one, record in rows),
        answerable=sum(one.answerable for one, _ in rows),
        gold_cited=sum(_cites_gold(one, record) for one, record in answered),
        numbers=round(sum(shares) / len(shares), 3) if shares else None,
        answered_unanswerable=sum(not one.answerable and record.decision == ANSWERED for one, record in rows),
        faults=tuple(faults),
    )


def _decided(question: Question, record: AnswerRecord) -> bool:
    return (record.decision == ANSWERED) == question.answerable


def _cites_gold(question: Question, record: AnswerRecord) -> bool:
    """Tell whether each company and period of the question is answered from a source of its gold evidence."""
    cited = {one.source_id for one in record.citations}
    companies = {one.source_id.split("_")[0] for one in question.gold}
    return all(
        any(one.source_id in cited for one in question.gold if one.source_id.startswith(f"{company}_"))
        for company in companies
    )


def _fault(question: Question, record: AnswerRecord) -> str | None:
    if not _decided(question, record):
        return f"{record.decision} {record.refusal_code or ''}".strip()
    if record.refusal_code != question.refusal_code:
        return f"refused with {record.refusal_code}, not {question.refusal_code}"
    if question.answerable and not _cites_gold(question, record):
        return "does not cite the gold source"
    return None


_SCALES = {"billion": Decimal(10) ** 9, "million": Decimal(10) ** 6, "thousand": Decimal(10) ** 3}


def judge_number(question: str, gold: str, record: AnswerRecord) -> str | None:
    """Judge a number question: right where the answer's own number equals the gold one at its precision.

    None where the gold answer is no single number.
    """
    match = re.fullmatch(r"\s*(-?)\$?\s?(-?)([\d,]+(?:\.\d+)?)\s?(%?)\s*", gold)
    if not match:
        return None
    digits = match[3].replace(",", "")
    wanted = Decimal(digits) * (-1 if match[1] or match[2] else 1)
    decimals = len(digits.rstrip("0").partition(".")[2]) if "." in digits else 0
    tolerance = Decimal(1).scaleb(-decimals) / 2
    scale = next((value for word, value in _SCALES.items() if f"usd {word}" in question.casefold()), Decimal(1))
    if record.derivations:
        given = [Decimal(record.derivations[0].result) * (100 if match[4] else 1)]
    else:
        given = [one.value for one in amounts(record.answer) if not one.year_like]
    close = [one for one in given if min(abs(one / scale - wanted), abs(abs(one) / scale - wanted)) <= tolerance]
    return "right" if close else "wrong"


def read_verdicts() -> dict[tuple[str, str], str]:
    """Return verdicts by (question id, hash of the answer)."""
    with VERDICTS.open(encoding="utf-8", newline="") as file:
        return {
            (row["question_id"], row["answer_sha256"]): row["verdict"] for row in csv.DictReader(file, delimiter="\t")
        }


def judge(row: dict[str, str], record: AnswerRecord, verdicts: dict[tuple[str, str], str]) -> Judged:
    """Return the verdict on one answer."""
    name = row["financebench_id"]
    if record.decision != ANSWERED:
        return Judged(name, "refused", "script", "", record.refusal_code)
    answer = sha256_text(record.answer)[:16]
    if row["question_type"] == "metrics-generated" and (
        verdict := judge_number(row["question"], row["answer"], record)
    ):
        return Judged(name, verdict, "script", answer)
    return Judged(name, verdicts.get((name, answer), "to be read"), "reading", answer)


def financebench(folder: Path, embedder: str, show: bool) -> list[Judged] | None:
    """Ask the FinanceBench questions, or return None where their files are absent."""
    if not (CORPUS / "questions.jsonl").is_file():
        print(f"FinanceBench skipped: no questions.jsonl in {CORPUS}", file=sys.stderr)
        return None
    corpus = Corpus(folder, [CORPUS / "pdfs"], embedder)
    verdicts = read_verdicts()
    judged = []
    for line in (CORPUS / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        record = corpus.ask(row["question"])
        judged.append(judge(row, record, verdicts))
        if show and judged[-1].verdict in ("to be read", "wrong"):
            print(f"--- {judged[-1]}\n{row['question']}\nGOLD {row['answer']}\n{record.answer}\n")
    return judged


def main() -> None:
    """Run both parts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", type=Path, default=ROOT / ".bench" / "answers", help="folder of the stores")
    parser.add_argument("--embedder", default="hashing", help="hashing (default), minilm, or a model by name or path")
    parser.add_argument("--show", action="store_true", help="print answers that are wrong or to be read")
    arguments = parser.parse_args()
    started = time.perf_counter()
    sample = Corpus(arguments.stores / f"sample-{arguments.embedder}", [SAMPLE], arguments.embedder)
    scores = [score_set(sample, read_set(EVAL_SETS / f"{name}.jsonl")) for name in set_names(EVAL_SETS)]
    print(f"{'set':22}{'decisions':>12}{'codes':>9}{'gold source':>13}{'numbers':>9}{'answered wrongly':>18}")
    for one in scores:
        numbers = "-" if one.numbers is None else f"{one.numbers:.2f}"
        print(
            f"{one.name:22}{one.decisions:>8}/{one.questions}{one.codes:>6}/{one.questions}"
            f"{one.gold_cited:>10}/{one.answerable}{numbers:>9}{one.answered_unanswerable:>18}"
        )
    for fault in (fault for one in scores for fault in one.faults):
        print(f"  {fault}")
    judged = financebench(arguments.stores / f"financebench-{arguments.embedder}", arguments.embedder, arguments.show)
    if judged is not None:
        counts = Counter(one.verdict for one in judged)
        print(f"FinanceBench, {len(judged)} questions: " + ", ".join(f"{counts[one]} {one}" for one in sorted(counts)))
        print(f"  beside it {PUBLISHED}")
    report = {
        "embedder": arguments.embedder,
        "sets": [one.__dict__ for one in scores],
        "financebench": None if judged is None else [one.__dict__ for one in judged],
        "seconds": round(time.perf_counter() - started, 1),
    }
    write_file(ROOT / ".bench" / "answers.json", canonical_json(report))


if __name__ == "__main__":
    main()
