"""Configurations are files: `eval_configs/<name>.toml` says which pipeline answers, how, and with which generator."""

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finrag_pipelines.answering.model import AnswerConfig
from finrag_pipelines.storage import digest, sha256_bytes

PIPELINES = ("full", "threshold_only", "deterministic_checks")


class ConfigurationError(ValueError):
    """A configuration file is not as documented; the message says what, where, and what is known."""


@dataclass(frozen=True)
class Configuration:
    """A named way of answering.

    `pipeline` is `full` (this project's), or one of the two it is compared with: `threshold_only` (unscoped retrieval
    and a score threshold) and `deterministic_checks` (that, with evidence-type and scope checks in front). `answer`
    holds retrieval mode, budget, generator and gates; `script` are the replies of a scripted generator; `reranker` is a
    cross-encoder by folder. `seed` enters the configuration hash and nothing else: no step here draws at random.
    """

    name: str
    description: str
    pipeline: str = "full"
    answer: AnswerConfig = dataclasses.field(default_factory=AnswerConfig)
    script: Path | None = None
    reranker: str = ""
    seed: int = 0

    @property
    def sha256(self) -> str:
        """The hash of everything that can change an answer; name and description cannot."""
        script = sha256_bytes(self.script.read_bytes()) if self.script else None
        return digest([self.pipeline, dataclasses.asdict(self.answer), script, self.reranker, self.seed])


def configuration_names(folder: Path) -> list[str]:
    """List the configurations of a folder by name, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def read_configuration(path: Path) -> Configuration:
    """Read a configuration. Raises ConfigurationError for what is not known, FileNotFoundError for no file."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path.name}: is no TOML ({error})") from None
    answer = content.pop("answer", {})
    known = {"description": str, "pipeline": str, "script": str, "reranker": str, "seed": int}
    for name, value in content.items():
        if name not in known or not isinstance(value, known[name]):
            raise ConfigurationError(f"{path.name}: {name} = {value!r}; known are {', '.join(known)} and [answer]")
    pipeline = content.get("pipeline", "full")
    if pipeline not in PIPELINES:
        raise ConfigurationError(f"{path.name}: pipeline {pipeline!r} is unknown; choose one of {', '.join(PIPELINES)}")
    script = path.parent / content["script"] if content.get("script") else None
    if script is not None and not script.is_file():
        raise ConfigurationError(f"{path.name}: script {content['script']!r} is not beside the configuration")
    return Configuration(
        name=path.stem,
        description=content.get("description", ""),
        pipeline=pipeline,
        answer=_answer_config(path, answer),
        script=script,
        reranker=content.get("reranker", ""),
        seed=content.get("seed", 0),
    )


def _answer_config(path: Path, table: dict[str, Any]) -> AnswerConfig:
    """Return the AnswerConfig of a table: its keys are the fields of AnswerConfig, whichever those are."""
    fields = {one.name for one in dataclasses.fields(AnswerConfig)}
    unknown = sorted(set(table) - fields)
    if unknown:
        listed = ", ".join(sorted(fields))
        raise ConfigurationError(f"{path.name}: [answer] does not know {', '.join(unknown)}; known are {listed}")
    values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in table.items()}
    if isinstance(table.get("options"), dict):
        values["options"] = tuple(sorted(table["options"].items()))
    return AnswerConfig(**values)
