"""Which filing an amendment amends: the one of the same company and form for the same period, filed before it.

The link is worked out from what stands, and not recorded: an original that arrives after its amendment is found too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from finrag_pipelines.catalog.identity import UNKNOWN, Amendment, Identity


@dataclass(frozen=True)
class AmendmentLink:
    """The link of one amendment: the source it amends, or None with the reason for which that is unknown."""

    source_id: str
    amends: str | None
    reason: str | None

    def sentence(self, amendment: Amendment | None) -> str:
        """Say what is amended, and what the amendment says of its effect."""
        what = f"amends {self.amends}" if self.amends else f"what it amends is unknown: {self.reason}"
        if amendment is None:
            return f"{what}; its effect was not read, parse it again"
        if amendment.effect == UNKNOWN:
            return f"{what}; whether it restates or adds is unknown: {amendment.basis}"
        return f"{what}; {amendment.effect} {amendment.scope} ({amendment.basis})"


def is_amendment(form: str | None) -> bool:
    """Tell whether a form is that of an amendment."""
    return (form or "").endswith("/A")


def amends(amendment: Identity, other: Identity) -> bool:
    """Tell whether `amendment` amends the filing `other`, or, being later, an earlier amendment of the same filing."""
    if not (is_amendment(amendment.form) and amendment.company and amendment.company == other.company):
        return False
    if (other.form or "").removesuffix("/A") != (amendment.form or "").removesuffix("/A"):
        return False
    if amendment.filed and other.filed and other.filed > amendment.filed:
        return False
    return _same_period(amendment, other)


def _same_period(one: Identity, other: Identity) -> bool:
    if one.period_end and other.period_end:
        return one.period_end == other.period_end
    return one.period is not None and one.period == other.period


def amendment_links(identities: Mapping[str, Identity]) -> dict[str, AmendmentLink]:
    """Return the link of every amendment among the identities of sources, by source id, sorted.

    An amendment without a period is linked only where the company has filed one original of that form.
    """
    return {
        source_id: _link(source_id, identity, identities)
        for source_id, identity in sorted(identities.items())
        if is_amendment(identity.form)
    }


def _link(source_id: str, amendment: Identity, identities: Mapping[str, Identity]) -> AmendmentLink:
    base = (amendment.form or "").removesuffix("/A")
    if not amendment.company:
        return AmendmentLink(source_id, None, "the amendment does not tell its company")
    originals = {
        name: one for name, one in sorted(identities.items()) if one.company == amendment.company and one.form == base
    }
    if not originals:
        return AmendmentLink(source_id, None, f"no {base} of {amendment.company} is in the store")
    if amendment.period_end or amendment.period:
        found = [name for name, one in originals.items() if amends(amendment, one)]
        period = amendment.period or amendment.period_end
        reason = f"no {base} of {amendment.company} for {period}, filed before it, is in the store"
    else:
        found = list(originals) if len(originals) == 1 else []
        reason = f"it names no period, and {len(originals)} filings {base} of {amendment.company} are in the store"
    if not found:
        return AmendmentLink(source_id, None, reason)
    return AmendmentLink(source_id, max(found, key=lambda name: (originals[name].filed or "", name)), None)
