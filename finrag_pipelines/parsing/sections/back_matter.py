"""What follows the items of a filing: the signatures, the exhibits, and financial statements that were put last."""

import re
from bisect import bisect_right
from dataclasses import replace

from finrag_pipelines.parsing.model import ElementKind, Layout, Section
from finrag_pipelines.parsing.sections.title_match import letters, line_span

_SIGNATURES = frozenset({"signatures", "signature", "signaturepage", "signaturesrequired"})
_SIGNATURE_WORD = re.compile(r"\bsignature", re.IGNORECASE)
_SIGNED = re.compile(
    r"pursuant\s+to\s+the\s+requirements?\s+of|in\s+accordance\s+with\s+section\s+13"
    r"|hereby\s+certifies\s+that\s+it\s+meets\s+all\s+of\s+the\s+requirements",
    re.IGNORECASE,
)
_EXHIBIT = re.compile(r"(?:exhibit|ex)[\s.–—-]{1,3}\(?(\d{1,3}(?:\.\d{1,3}){0,3}(?:\(\w{1,3}\))?)\)?", re.IGNORECASE)
# What a title says in letters only, and the key of the section that it opens. An annual report to shareholders that
# was put behind the signatures has parts of its own.
_BACK_MATTER = {
    "Exhibit Index": ("exhibitindex", "indextoexhibits", "indexofexhibits"),
    "Annual Report": ("annualreporttoshare", "annualreporttostock", "financialsection", "financialreview"),
    "Management's Discussion": ("managementsdiscussion",),
    "Selected Financial Data": ("selectedfinancialdata", "selectedconsolidatedfinancialdata"),
    "Financial Statements": (
        "indextofinancialstatements",
        "indextoconsolidatedfinancialstatements",
        "reportofindependentregisteredpublicaccountingfirm",
        "reportofindependentauditors",
        "independentauditorsreport",
        "consolidatedfinancialstatements",
        "financialstatements",
        "consolidatedstatement",
        "consolidatedbalancesheet",
        "statementofearnings",
        "statementofincome",
        "statementoffinancialposition",
    ),
}
_LONGEST_SIGNATURES = 40_000
_HEADING_LENGTH = 200  # of an exhibit: what opens within it is the exhibit itself


def find_signatures(text: str, start: int) -> int:
    """Return where the signatures begin after `start`: their heading, else their first sentence, else the end."""
    for found in _SIGNATURE_WORD.finditer(text, start):
        line_start, line_end = line_span(text, found.start())
        if letters(text[line_start:line_end][:60]) in _SIGNATURES and _SIGNED.search(text, line_end, line_end + 700):
            return line_start
    signed = _SIGNED.search(text, start)
    return line_span(text, signed.start())[0] if signed else len(text)


def after_signatures(layout: Layout, start: int) -> list[Section]:
    """Cut what follows the signatures at the exhibits and at financial statements that were put last. `start` may also
    be where a joined document begins, where the filing itself has no signatures."""
    exhibits = [(at, _exhibit_key(name)) for name, at in layout.joined if at > start]
    cuts = back_matter(layout, start + 1, exhibits[0][0] if exhibits else len(layout.text))
    for i, (at, key) in enumerate(exhibits):
        stop = exhibits[i + 1][0] if i + 1 < len(exhibits) else len(layout.text)
        parts = back_matter(layout, at + 1, stop)
        cuts += [(at, key), *(cut for cut in parts if cut[1] != key and cut[0] > at + _HEADING_LENGTH)]
    bounds = [start, *(at for at, _ in cuts), len(layout.text)]
    keys = [
        next((_exhibit_key(name) for name, at in layout.joined if at == start), "Signatures"),
        *(key for _, key in cuts),
    ]
    sections = [Section(key, key, bounds[i], bounds[i + 1]) for i, key in enumerate(keys) if bounds[i] < bounds[i + 1]]
    if sections[0].end - sections[0].start > _LONGEST_SIGNATURES:
        sections[0] = replace(sections[0], flags=("absurd_size",))
    return sections


def _exhibit_key(name: str) -> str:
    """`EX-99.1` as the heading of a section."""
    return re.sub(r"^EX-", "Exhibit ", name, flags=re.IGNORECASE)


def back_matter(layout: Layout, start: int, stop: int) -> list[tuple[int, str]]:
    """Return where an exhibit, the exhibit index or the financial statements begin between `start` and `stop`.

    An exhibit opens a page or is a title; its name is repeated as a running header and counts once.
    """
    text = layout.text
    page_starts = [page.start for page in layout.pages]
    titles = {e.start for e in layout.elements if e.kind is ElementKind.TITLE}
    cuts: list[tuple[int, str]] = []
    for match in _EXHIBIT.finditer(text, start, stop):
        line_start, line_end = line_span(text, match.start())[0], line_span(text, match.end())[1]
        if text[line_start : match.start()].strip() or line_end - line_start > 60:
            continue
        page = bisect_right(page_starts, line_start) - 1
        opens_page = page >= 0 and len(text[page_starts[page] : line_start].strip()) < 80
        if opens_page or line_start in titles:
            cuts.append((line_start, f"Exhibit {match.group(1)}"))
    named = [*_named_back_matter(layout, start, cuts[0][0] if cuts else stop), *cuts]
    return [cut for i, cut in enumerate(named) if i == 0 or cut[1] != named[i - 1][1]]


def _named_back_matter(layout: Layout, start: int, stop: int) -> list[tuple[int, str]]:
    found: dict[str, int] = {}
    for element in layout.elements:
        if element.kind in (ElementKind.TITLE, ElementKind.TABLE) and start <= element.start < stop:
            first_line = layout.text[element.start : min(element.end, element.start + 200)].strip("|\n ")
            wording = letters(first_line.split("\n", 1)[0])
            key = next((key for key, known in _BACK_MATTER.items() if wording.startswith(known)), None)
            if key is not None:
                found.setdefault(key, element.start)
    return sorted((at, key) for key, at in found.items())
