"""Where eval sets and configurations lie: folders of the project, or those that two environment variables name."""

import os
from pathlib import Path

from finrag_pipelines.evaluation.configurations import configuration_names
from finrag_pipelines.evaluation.sets import EvalSet, read_set, set_names
from finrag_pipelines.storage import project_root

DEFAULT_CONFIGURATION = "full"
_GUARDS = "guards.toml"


def sets_folder() -> Path:
    """Return the folder of eval sets: FINRAG_EVAL_SETS, or `eval_sets` in the project."""
    return Path(os.environ.get("FINRAG_EVAL_SETS") or project_root() / "eval_sets")


def configurations_folder() -> Path:
    """Return the folder of configurations: FINRAG_EVAL_CONFIGS, or `eval_configs` in the project."""
    return Path(os.environ.get("FINRAG_EVAL_CONFIGS") or project_root() / "eval_configs")


def guards_path() -> Path:
    """Return the file of guards: `guards.toml` in the folder of eval sets, or the one of the package."""
    own = sets_folder() / _GUARDS
    return own if own.exists() else Path(__file__).with_name(_GUARDS)


def all_sets() -> list[EvalSet]:
    """Read every eval set, sorted by name. Raises SetError for one that is not as documented."""
    folder = sets_folder()
    return [read_set(folder / f"{name}.jsonl") for name in set_names(folder)]


def set_path(name: str) -> Path:
    """Return the file of an eval set. Raises ValueError, naming those that exist."""
    return _known(sets_folder() / f"{name}.jsonl", "eval set", set_names(sets_folder()))


def configuration_path(name: str) -> Path:
    """Return the file of a configuration. Raises ValueError, naming those that exist."""
    return _known(
        configurations_folder() / f"{name}.toml", "configuration", configuration_names(configurations_folder())
    )


def _known(path: Path, what: str, names: list[str]) -> Path:
    if path.stem not in names:
        listed = ", ".join(names) or "none"
        raise ValueError(f"no {what} is called {path.stem!r} in {path.parent}; there are: {listed}")
    return path
