"""The identity in the making: the first source that states a field decides it."""

from dataclasses import dataclass, field
from datetime import date

from finrag_pipelines.catalog.identity import Finding


@dataclass
class Notes:
    """What has been found so far, each with its basis; `unknown` holds reasons, `values` also what is only an
    intermediate step (`symbol`, `reported`)."""

    values: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    subjects: tuple[str, ...] = ()
    event_dates: tuple[str, ...] = ()

    def note(self, name: str, value: str | date | None, basis: str) -> None:
        """Enter a fact, unless an earlier source has stated the field; None and the empty text state nothing."""
        if value is None or value == "" or name in self.values:
            return
        self.values[name] = value.isoformat() if isinstance(value, date) else value
        self.findings.append(Finding(name, self.values[name], basis))

    def withdraw(self, name: str) -> None:
        """Forget a field, so that a better source may state it."""
        self.values.pop(name, None)
        self.findings = [finding for finding in self.findings if finding.name != name]

    def get(self, name: str) -> str | None:
        """Return what is known of a field."""
        return self.values.get(name)

    def day(self, name: str) -> date | None:
        """Return a field that holds an ISO date."""
        value = self.values.get(name)
        return date.fromisoformat(value) if value else None
