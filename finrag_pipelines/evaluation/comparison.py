"""Two evaluations of one set, question by question: right decisions first, then the figures that both have."""

from finrag_pipelines.evaluation.paired import Comparison, compare_decisions, compare_figures
from finrag_pipelines.evaluation.results import Evaluation

COMPARED = ("fragment_recall@10", "scope_coverage", "citation_recall", "numeric_match")


def compare(first: Evaluation, second: Evaluation) -> tuple[Comparison, ...]:
    """Compare two configurations on one set: right decisions first, then the figures that both have."""
    names = first.header.configuration, second.header.configuration
    if names[0] == names[1]:
        names = first.header.key[:8], second.header.key[:8]
    decided = [{row.question_id: row.as_decision.right for row in one.questions} for one in (first, second)]
    found = [compare_decisions(names[0], names[1], decided[0], decided[1], "right decisions")]
    for figure in COMPARED:
        left, right = (
            {row.question_id: row.value for row in one.figures if row.name == figure and row.value is not None}
            for one in (first, second)
        )
        found.append(compare_figures(*names, left, right, figure))
    return tuple(found)
