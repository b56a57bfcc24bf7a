"""Operators that make a true sentence false, and templates that say the same in other words."""

import re
from collections.abc import Sequence
from dataclasses import replace

from finrag_pipelines.answering.documents import Documents, without_notes
from finrag_pipelines.answering.model import Draft, Support
from finrag_pipelines.answering.numbers import amounts
from finrag_pipelines.answering.wording import figure_text

_PERIOD = re.compile(r"\b(?:FY(\d{4})|(\d{4})Q[1-4])")
_UNITS = [
    (" million", " billion"), (" million", " thousand"), (" billion", " million"), (" thousand", " million"),
    ("%", " basis points"), ("%", " times"), ("$", "€"), (" per share", " million"),
]  # fmt: skip
_OPPOSITES = [
    (" rose ", " fell "), (" increased ", " decreased "), (" decreased ", " increased "), (" grew ", " declined "),
    (" declined ", " rose "), (" higher ", " lower "), (" lower ", " higher "), (" was ", " was not "),
    (" were ", " were not "), (" and ", " but not "),
]  # fmt: skip


def mutations(draft: Draft, companies: Sequence[str], other: Support) -> list[tuple[str, Draft]]:
    """Return false variants of a true sentence with the names of the operators; `other` bears something else."""
    text = draft.text
    found: list[tuple[str, str]] = []
    for one in companies:
        if one in text:
            found += [("company", text.replace(one, wrong)) for wrong in companies if wrong not in text]
    for number in amounts(text):
        digits = re.search(r"\d[\d,.]*\d|\d", number.printed)
        if digits and not number.year_like:
            first = digits.group()[0]
            wrong = str((int(first) + 3) % 9 + 1) + digits.group()[1:]
            start = text.index(digits.group(), number.start)
            found.append(("number", text[:start] + wrong + text[start + len(wrong) :]))
    found += [("unit", text.replace(one, wrong)) for one, wrong in _UNITS if one in text]
    if match := _PERIOD.search(text):
        year = match[1] or match[2]
        found.append(("period", text.replace(year, str(int(year) - 9))))
        found.append(("period", text.replace(match.group(), re.sub(r"\d{4}", str(int(year) + 7), match.group()))))
    if '"' in text:
        head, _, quote = text.partition('"')
        found += [("quote", f'{head}"{quote.replace(one, wrong, 1)}') for one, wrong in _OPPOSITES if one in quote]
        found.append(("quote", f'{head}"Not {quote}'))
    made = [(name, replace(draft, text=one)) for name, one in found if one != text]
    made.append(("uncited", replace(draft, supports=())))
    made.append(("invented citation", replace(draft, unresolved=("S99",))))
    made.append(("another passage", replace(draft, supports=(other,), computed=None)))
    return made


def rewordings(draft: Draft, documents: Documents) -> list[Draft]:
    """Return true variants of a sentence that states a table row or quotes a passage."""
    if draft.computed is not None or len(draft.supports) != 1:
        return []
    support = draft.supports[0]
    figure, fragment = support.figure, support.delivered.fragment
    if figure is None:
        return [replace(draft, text=f"{opening}{draft.text}") for opening in ("In short: ", "On this point, ")]
    name, label = documents.company_name(fragment.company), without_notes(figure.label).rstrip(":")
    value, period = figure_text(figure), figure.period or fragment.period
    texts = [
        f"{name} reported {label} of {value} for {period}.",
        f"In {period}, {label} of {name} came to {value}.",
        f"{label} at {name}: {value} ({period}).",
        f"According to its {fragment.form}, {name} had {label} of {value} in {period}.",
    ]
    return [replace(draft, text=one) for one in texts]
