"""When assets materialize by themselves. Each condition is a named function whose text says why."""

from typing import Any

from dagster import AutomationCondition


def _changed() -> AutomationCondition[Any]:
    """Nothing stands yet, an input has another data version, or the code changed, and no run has answered to it yet.

    A change that arrives while something else holds the asset back is kept; a run that failed is not asked for again.
    """
    changed: Any = (
        AutomationCondition.missing().newly_true()
        | AutomationCondition.any_deps_match(AutomationCondition.data_version_changed())
        | AutomationCondition.code_version_changed()
    )
    return changed.since(AutomationCondition.newly_requested() | AutomationCondition.newly_updated())


def follows_its_inputs() -> AutomationCondition[Any]:
    """Materialize what changed, once its inputs are there.

    A re-run of an input that gives the same hash requests nothing: work is proportional to what changed.
    """
    ready = ~AutomationCondition.in_progress() & ~AutomationCondition.any_deps_missing()
    return (_changed() & ready).with_label("follows_its_inputs")


def manifest_follows_its_sources() -> AutomationCondition[Any]:
    """As `follows_its_inputs`, but without waiting for sources that never got through: a filing that failed must not
    hold the others back, and the manifest itself leaves it out. While sources are still on their way it waits, so that
    a bulk arrival becomes one index build."""
    settled = ~AutomationCondition.in_progress() & ~AutomationCondition.any_deps_in_progress()
    return (_changed() & settled).with_label("manifest_follows_its_sources")
