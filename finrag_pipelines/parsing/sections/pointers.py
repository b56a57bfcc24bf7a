"""Items that only point elsewhere: "incorporated by reference" to a proxy statement, an exhibit, a note."""

import re

_SENTENCE = re.compile(r"(?<=[.;:])\s+(?=[A-Z“\"(])|\n\s*\n")
_REFERENCE = re.compile(
    r"incorporated\s+(?:herein\s+|hereby\s+|into\s+\S+\s+)?(?:herein\s+)?by\s+(?:this\s+)?reference|by\s+reference\s+(?:herein|from|to)"
    r"|\b(?:is|are|appears?|will\s+be)\s+(?:included|set\s+forth|contained|presented|disclosed|discussed|described|located|found|provided|filed|submitted|in\b|under\b)"
    r"|\b(?:is|are|will\s+be)\s+(?:\w+\s+)?(?:included|set\s+forth|contained|presented|furnished)"
    r"|\b(?:refer|reference\s+is\s+made)\s+(?:is\s+made\s+)?to\b|^\W*(?:please\s+)?see\b|\b(?:included|set\s+forth|contained)\s+(?:in|under|beginning)\b"
    r"|^\W*(?:for|the)\s+information\b|\bpages?\s+\d",
    re.IGNORECASE,
)
_TARGETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"proxy\s+(?:and\s+information\s+)?statement", re.IGNORECASE), "Proxy Statement"),
    (re.compile(r"information\s+statement", re.IGNORECASE), "Information Statement"),
    (re.compile(r"exhibit\s+(13(?:\.\d+|\(\w\))?)", re.IGNORECASE), "Exhibit {0}"),
    (
        re.compile(
            r"annual\s+report\s+to\s+(?:\w+\s+)?(?:share|stock|security)[\s-]?(?:holders|owners)", re.IGNORECASE
        ),
        "Annual Report to Shareholders",
    ),
    (re.compile(r"\bnotes?\s+(\d{1,2}[A-Z]?)\b", re.IGNORECASE), "Note {0}"),
    (re.compile(r"\b(part\s+iv|part\s+i{1,3}),?\s+items?\s+(\d{1,2}[A-C]?)\b", re.IGNORECASE), "{0}, Item {1}"),
    (
        re.compile(r"\bitems?\s+(\d{1,2}(?:\.\d\d|[A-C])?)\b(?!\s+of\s+(?:regulation|schedule))", re.IGNORECASE),
        "Item {0}",
    ),
    (re.compile(r"\bannual\s+report\b(?!\s+on\s+form)", re.IGNORECASE), "Annual Report"),
    (re.compile(r"\bexhibit\s+(\d{1,2}(?:\.\d+)?)", re.IGNORECASE), "Exhibit {0}"),
    (re.compile(r"\bpages?\s+(F?-?\d{1,3})\s*(?:[-–]|to|through)\s*(F?-?\d{1,3})\b", re.IGNORECASE), "pages {0}-{1}"),
    (re.compile(r"\bpages?\s+(F?-?\d{1,3})\b", re.IGNORECASE), "page {0}"),
    (
        re.compile(r"\b(?:Notes?\s+to\s+(?:\w+\s+){0,3}Financial\s+Statements)", re.IGNORECASE),
        "Notes",
    ),
    (
        re.compile(r"\bManagement[’']s\s+Discussion\s+and\s+Analysis", re.IGNORECASE),
        "MD&A",
    ),
    (re.compile(r"\b(?:Consolidated\s+)?Financial\s+Statements\b", re.IGNORECASE), "Financial Statements"),
)
_THIS_ITEM = re.compile(
    r"(?:required|called\s+for|requested)\s+by\s+(?:this\s+item|items?\s+\S+(?:\s+of\s+(?:form|regulation)\s+\S+)?)",
    re.IGNORECASE,
)
_CAPTION = re.compile(r"“([^“”]{1,300})”|\"([^\"]{1,300})\"")
_NOTHING = re.compile(r"\W*(?:none|not\s+applicable|n/a|reserved|omitted)\b\W*(?:$|[.;])", re.IGNORECASE)
_LONGEST = 4_000  # an item longer than this says something itself
_WORDLESS = re.compile(r"^\W*(?:table\s+of\s+contents|\d{1,3}|part\s+[iv]+.{0,30})\W*$", re.IGNORECASE)


def find_pointer(body: str, own_number: str = "") -> str | None:
    """Return the target of an item whose body does nothing but refer to it, or None where it says something itself.

    `body` is the text after the heading; `own_number` the item's number, which is no target of itself. The target is
    short: `Proxy Statement`, `Note 12`, `Part II, Item 8`, with a caption where one is quoted.
    """
    if len(body) > _LONGEST:
        return None
    body = "\n".join(line for line in body.split("\n") if not _WORDLESS.match(line))
    sentences = [s for s in (" ".join(part.split()) for part in _SENTENCE.split(body)) if any(c.isalpha() for c in s)]
    if not sentences or _NOTHING.match(sentences[0]):
        return None
    total = sum(map(len, sentences))
    referring = [s for s in sentences if _REFERENCE.search(s)]
    if not referring or sum(map(len, referring)) < 0.7 * total:
        return None
    told = _THIS_ITEM.sub(" ", " ".join(referring))
    strong = re.search(r"incorporated|by\s+reference", told, re.IGNORECASE) is not None
    for pattern, form in _TARGETS:
        for match in pattern.finditer(told):
            groups = [" ".join(g.split()) for g in match.groups()]
            if groups and groups[-1].upper() == own_number and form.startswith(("Item", "{0}, Item")):
                continue
            target = form.format(*(g.upper() if len(g) < 4 else g for g in groups))
            captions = (a or b for a, b in _CAPTION.findall(told))
            caption = next(
                (c.strip(" ,.") for c in captions if 6 <= len(c) <= 60 and c[0].isupper() and c.strip() != target), None
            )
            return f"{target}: {caption}" if caption else target
    return "by reference" if strong else None
