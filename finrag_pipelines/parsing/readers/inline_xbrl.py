"""Inline XBRL: contexts and units of the hidden header, and the facts that tags in the text state."""

from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from finrag_pipelines.parsing.model import Fact

if TYPE_CHECKING:
    from finrag_pipelines.parsing.readers.html_walk import Block

FACT_TAGS = frozenset(("ix:nonfraction", "ix:nonnumeric", "ix:fraction"))
_MAX_VALUE = 1000


@dataclass(frozen=True)
class Context:
    """Period (ISO dates, equal for an instant) and dimensions (`axis=member`) of a context."""

    start: str | None
    end: str | None
    dimensions: tuple[str, ...] = ()

    @property
    def duration(self) -> str | None:
        """`instant`, `quarter` (12 to 17 weeks), `ytd` (two or three quarters), `year`, or None for other lengths."""
        if not self.start or not self.end:
            return None
        if self.start == self.end:
            return "instant"
        try:
            days = (date.fromisoformat(self.end) - date.fromisoformat(self.start)).days + 1
        except ValueError:
            return None
        for low, high, name in ((75, 125, "quarter"), (150, 300, "ytd"), (340, 385, "year")):
            if low <= days <= high:
                return name
        return None


@dataclass(slots=True, eq=False)
class Tag:
    """A fact's tag as met on the walk: what it says, and where its text begins and ends (None while unknown)."""

    concept: str
    context: str
    unit: str
    scale: int
    negative: bool
    numeric: bool
    stated: str = ""
    begin: tuple["Block", int] | None = None
    finish: tuple["Block", int] | None = None


@dataclass
class Header:
    """The contexts and units that a document declares, by id."""

    contexts: dict[str, Context] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)

    def read(self, element: etree._Element) -> None:
        """Take in the declarations inside one `ix:header`."""
        for node in element.iter("xbrli:context", "context"):
            self.contexts[node.get("id", "")] = _context(node)
        for node in element.iter("xbrli:unit", "unit"):
            self.units[node.get("id", "")] = _unit(node)


def open_tag(element: etree._Element) -> Tag:
    """Return what the tag of a fact says, before its text is known."""
    try:
        scale = int(element.get("scale") or 0)
    except ValueError:
        scale = 0
    return Tag(
        concept=element.get("name", ""),
        context=element.get("contextref", ""),
        unit=element.get("unitref", ""),
        scale=scale,
        negative=element.get("sign") == "-",
        numeric=element.tag != "ix:nonnumeric",
    )


def hidden_tags(element: etree._Element) -> list[Tag]:
    """Return the facts inside an element that is not shown, with their values as stated."""
    tags = []
    for node in element.iter(*FACT_TAGS):
        tag = open_tag(node)
        tag.stated = " ".join("".join(node.itertext()).split())[:_MAX_VALUE]
        tags.append(tag)
    return tags


def to_fact(tag: Tag, header: Header, text: str) -> Fact:
    """Return the finished fact. The value of a fact that spans more than 1,000 characters is left to its range."""
    context = header.contexts.get(tag.context, Context(None, None))
    start = end = None
    value = tag.stated
    if tag.begin and tag.finish and tag.begin[0].offset is not None and tag.finish[0].offset is not None:
        first, last = tag.begin[0], tag.finish[0]
        start = first.place(tag.begin[1])
        end = max(start, last.place(tag.finish[1]))
        while end > start and text[end - 1].isspace():
            end -= 1
        while start < end and text[start].isspace():
            start += 1
        value = text[start:end] if end - start <= _MAX_VALUE else ""
    return Fact(
        concept=tag.concept,
        value=value,
        start=start,
        end=end,
        period_start=context.start,
        period_end=context.end,
        dimensions=context.dimensions,
        unit=header.units.get(tag.unit) if tag.unit else None,
        scale=tag.scale,
        negative=tag.negative,
    )


def _words(node: etree._Element | None) -> str | None:
    return ("".join(map(str, node.itertext())).strip() or None) if node is not None else None


def _context(node: etree._Element) -> Context:
    start = end = None
    dimensions = []
    for part in node.iter():
        name = str(part.tag).rpartition(":")[2]
        if name == "startdate":
            start = (_words(part) or "")[:10] or None
        elif name == "enddate":
            end = (_words(part) or "")[:10] or None
        elif name == "instant":
            start = end = (_words(part) or "")[:10] or None
        elif name in ("explicitmember", "typedmember"):
            dimensions.append(f"{part.get('dimension', '')}={_words(part) or ''}")
    return Context(start, end, tuple(sorted(dimensions)))


def _unit(node: etree._Element) -> str:
    """`USD`, `USD/share`, `shares`, `pure`, or what the issuer calls it."""
    over, under = [], []
    for part in node.iter():
        if str(part.tag).rpartition(":")[2] == "measure":
            below = any(str(up.tag).endswith("unitdenominator") for up in part.iterancestors())
            (under if below else over).append((_words(part) or "").rpartition(":")[2])
    name = "*".join(over)
    return f"{name}/{'*'.join('share' if part == 'shares' else part for part in under)}" if under else name
