"""Mode `auto`: which mode a question is searched in, by its type, from a table that evaluation measured.

The table is data: `modes.json` beside this file, or the file that FINRAG_MODES names. `finrag eval modes` writes it.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from finrag_pipelines.retrieval.model import Plan
from finrag_pipelines.storage import digest

AUTO, DEFAULT_MODE = "auto", "hybrid"
FIXED_MODES = ("lexical", "vector", "hybrid", "hybrid+rerank")
QUESTION_TYPES = ("unscoped", "comparison", "speaker", "section", "figure", "other")
_FILE = Path(__file__).with_name("modes.json")


@dataclass(frozen=True)
class ModeChoices:
    """The mode of each question type that a measured set showed one for; the default for every other type."""

    choices: Mapping[str, str]

    @property
    def sha256(self) -> str:
        """The hash of what is chosen, which a record of mode `auto` keeps."""
        return digest(dict(self.choices))

    def mode_of(self, question_type: str) -> str:
        """Return the mode that questions of a type are searched in."""
        return self.choices.get(question_type, DEFAULT_MODE)


def question_type(plan: Plan) -> str:
    """Return what kind of question a plan stands for, by what it restricts, the first that holds of QUESTION_TYPES."""
    if not plan.companies:
        return "unscoped"
    if plan.comparison or len(plan.pairs) > 1:
        return "comparison"
    if plan.roles:
        return "speaker"
    if plan.sections:
        return "section"
    return "figure" if plan.concepts or plan.statements else "other"


def load_modes(path: Path | None = None) -> ModeChoices:
    """Read the table. Raises ValueError for a type or mode that does not exist, FileNotFoundError for no file."""
    path = path or Path(os.environ.get("FINRAG_MODES") or _FILE)
    try:
        choices = dict(json.loads(path.read_text("utf-8"))["choices"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: is no table of modes ({error}); write one with `finrag eval modes`") from None
    for kind, mode in choices.items():
        if kind not in QUESTION_TYPES or mode not in FIXED_MODES:
            known = f"types {', '.join(QUESTION_TYPES)}; modes {', '.join(FIXED_MODES)}"
            raise ValueError(f"{path}: {kind!r} -> {mode!r} is not known; there are {known}")
    return ModeChoices(dict(sorted(choices.items())))
