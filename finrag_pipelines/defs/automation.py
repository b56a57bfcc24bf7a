"""When assets materialize by themselves. Each condition is a named function whose text says why."""

from typing import Any

from dagster import AutomationCondition

_Condition = AutomationCondition[Any]


def _something_new() -> _Condition:
    """Nothing stands yet, an input has another data version, or the code changed. An equal data version is no news."""
    return (
        AutomationCondition.missing().newly_true()
        | AutomationCondition.any_deps_match(AutomationCondition.data_version_changed())
        | AutomationCondition.code_version_changed()
    )


def failed_for_the_first_time(news: _Condition | None = None) -> _Condition:
    """A run failed, and it is the first since there was something new: it is asked for once more, because a lock or a
    connection may have been to blame. What fails twice waits for other bytes or other code."""
    failed = AutomationCondition.execution_failed().since(news or _something_new())
    return failed.newly_true().with_label("failed_for_the_first_time")


def _unanswered(news: _Condition) -> _Condition:
    """Something is new, and no run has answered to it yet. What arrives while something else holds the asset back is
    kept."""
    return news.since(AutomationCondition.newly_requested() | AutomationCondition.newly_updated())


def _due(news: _Condition) -> _Condition:
    """Something is new and unanswered, or a run failed for the first time since there was: that is not kept, for it
    comes in the tick in which the request before it counts as answered."""
    return _unanswered(news) | failed_for_the_first_time(news)


def chain_follows_its_bytes() -> _Condition:
    """Register a source when its bytes are first seen or their hash has changed; an equal hash does nothing. One that
    is on its way is not sent twice."""
    return (_due(_something_new()) & ~AutomationCondition.in_progress()).with_label("chain_follows_its_bytes")


def goes_along_with_its_chain() -> _Condition:
    """Parse, cut and embed in the run that registers, so that a filing takes one run and one tick, not four; and alone,
    where only this step's code changed."""
    news = _something_new() | AutomationCondition.any_deps_match(AutomationCondition.will_be_requested())
    ready = (
        ~AutomationCondition.in_progress()
        & ~AutomationCondition.any_deps_in_progress()
        & ~AutomationCondition.any_deps_missing()
    )
    return (_due(news) & ready).with_label("goes_along_with_its_chain")


def follows_its_inputs() -> _Condition:
    """Materialize what changed, once its inputs are there.

    A re-run of an input that gives the same hash requests nothing: work is proportional to what changed.
    """
    ready = ~AutomationCondition.in_progress() & ~AutomationCondition.any_deps_missing()
    return (_due(_something_new()) & ready).with_label("follows_its_inputs")


def manifest_follows_its_sources() -> _Condition:
    """As `follows_its_inputs`, but without waiting for sources that never got through: a filing that failed must not
    hold the others back, and the manifest itself leaves it out. It waits while sources are on their way, and one tick
    longer for those that are sent on just now, so that a bulk arrival becomes one index build."""
    unanswered = _unanswered(_something_new())
    settled = (
        ~AutomationCondition.in_progress()
        & ~AutomationCondition.any_deps_in_progress()
        & AutomationCondition.any_deps_match(~AutomationCondition.missing())
    )
    due = (unanswered & ~unanswered.newly_true()) | failed_for_the_first_time()
    return (due & settled).with_label("manifest_follows_its_sources")


def follows_where_checks_passed() -> _Condition:
    """As `follows_its_inputs`, and never past an input whose blocking checks failed, in whichever run that was: an
    index version that was stopped must not start to answer a tick later."""
    passed = AutomationCondition.all_deps_blocking_checks_passed()
    return (follows_its_inputs() & passed).with_label("follows_where_checks_passed")


def report_follows_its_results() -> _Condition:
    """Write the report again when a result has changed, once none is on its way: a backfill ends in one report."""
    changed = AutomationCondition.any_deps_match(AutomationCondition.data_version_changed())
    news = changed.since(AutomationCondition.newly_requested() | AutomationCondition.newly_updated())
    settled = ~AutomationCondition.in_progress() & ~AutomationCondition.any_deps_in_progress()
    return (news & settled).with_label("report_follows_its_results")
