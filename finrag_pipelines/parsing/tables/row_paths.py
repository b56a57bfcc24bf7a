"""The groups that table rows stand under: by indentation, by lines without figures, and by the totals that end them."""

import re
from dataclasses import dataclass

from finrag_pipelines.parsing.tables.grid_cells import GridLine

_TOTAL = re.compile(
    r"^(?:sub-?)?total\b|^net cash\b|^(?:cash|net cash) (?:provided|used|from|flows?)\b|合计|总计|^小计", re.I
)
# Lines of a balance sheet that carry no amount and head no group.
_LONE = re.compile(
    r"^commitments?$|^commitments? and contingen|^contingen(?:t liabilit|cies and commit)"
    r"|^see (?:accompanying )?notes?\b",
    re.I,
)
_SUBGROUP = re.compile(r"^(?:adjustments?|(?:net )?changes? in|(?:increase|decrease|\(increase\)|\(decrease\)) )", re.I)
_ACTIVITY = re.compile(r"\b(operating|investing|financing)\b.{0,30}\bactivities\b", re.I)
_SAME_DEPTH = 1.5  # points


@dataclass(slots=True)
class _Group:
    """An open group of rows: its label, indentation, and whether deeper rows stood under it."""

    label: str
    indent: float
    strong: bool = False
    has_deeper: bool = False


class RowPaths:
    """The groups that are open while the body of a table is read from the top.

    A line without values opens a group. Deeper lines stand under it until a line at its own depth follows; in a table
    without indentation, lines stand under it until its total, or until the next group opens.
    """

    def __init__(self) -> None:
        self.groups: list[_Group] = []
        self.after_values = False

    def take(self, line: GridLine) -> tuple[str, ...]:
        """Return the labels that `line` stands under."""
        opens = not line.values
        if not line.label:
            path = self.path()
            if self.groups and self.groups[-1].has_deeper:
                self.groups.pop()
            return path
        total = bool(_TOTAL.match(line.label))
        while self.groups and self._ended(self.groups[-1], line, opens, total):
            self.groups.pop()
        if self.groups and line.indent > self.groups[-1].indent + _SAME_DEPTH:
            self.groups[-1].has_deeper = True
        if total and (named := self._named(line.label)) is not None:
            del self.groups[named + 1 :]
        path = self.path()
        if (
            total
            and self.groups
            and (self.groups[-1].has_deeper or abs(self.groups[-1].indent - line.indent) <= _SAME_DEPTH)
        ):
            self.groups.pop()
        if opens and not _LONE.match(line.label):
            self.groups.append(_Group(line.label, line.indent, line.strong))
        self.after_values = not opens
        return path

    def path(self) -> tuple[str, ...]:
        """Return the labels of the open groups, the outermost first."""
        return tuple(group.label for group in self.groups)

    def _ended(self, group: _Group, line: GridLine, opens: bool, total: bool) -> bool:
        if group.indent > line.indent + _SAME_DEPTH:
            return True
        if group.indent < line.indent - _SAME_DEPTH or total:
            return False
        nested = (group.strong and not line.strong) or (
            _SUBGROUP.match(line.label) and "activities" in group.label.lower()
        )
        return (opens and self.after_values and not nested) or group.has_deeper

    def _named(self, label: str) -> int | None:
        """Return the innermost open group that a total names, as `Total current assets` names `Current assets`."""
        words = _words(label)
        activity = _ACTIVITY.search(label)
        for index in range(len(self.groups) - 1, -1, -1):
            named = _words(self.groups[index].label)
            same = _ACTIVITY.search(self.groups[index].label) if activity else None
            if (named and named <= words) or (activity and same and same[1].lower() == activity[1].lower()):
                return index
        return None


def _words(label: str) -> set[str]:
    return {
        word
        for word in re.findall(r"[a-z]{3,}", label.lower())
        if word not in ("total", "and", "the", "from", "cash", "flows")
    }
