"""The pass over all records that blanks what they repeat of erased documents."""

from collections.abc import Collection
from dataclasses import dataclass

from finrag_pipelines.evidence.blank import Repeats, blank_paths, blanked
from finrag_pipelines.evidence.write import finish_interrupted, read_run, reload_runs, run_ids, write_run
from finrag_pipelines.storage import Store, crash_point


@dataclass(frozen=True)
class Blanked:
    """What a pass over the records left: answers with blank texts, and the runs whose questions are blank."""

    answers: tuple[str, ...]
    runs_without_question: tuple[str, ...]
    texts: int


def blank_records(store: Store, contents: Collection[str], repeats: Repeats | None = None) -> Blanked:
    """Blank, in every record, what it repeats of the documents with these content hashes, and bring the database up.

    Each record file is replaced whole. The database keeps what it deletes in its file until that is rewritten.
    """
    answers, questions, rewritten, count = [], [], [], 0
    with store.lock("evidence"):
        finish_interrupted(store)
        for run_id in run_ids(store):
            records = read_run(store, run_id)
            after = tuple(blanked(one, contents, repeats) for one in records)
            if after != records:
                count += sum(
                    len(blank_paths(new)) - len(blank_paths(old)) for new, old in zip(after, records, strict=True)
                )
                crash_point("lifecycle.before_record_blanked")
                write_run(store, run_id, after)
                crash_point("lifecycle.after_record_blanked")
            if any(blank_paths(one) for one in after):
                rewritten.append(run_id)
                answers += [one.answer_id for one in after if blank_paths(one)]
            if any("question" in blank_paths(one) for one in after):
                questions.append(run_id)
        reload_runs(store, rewritten)
    return Blanked(tuple(answers), tuple(questions), count)
