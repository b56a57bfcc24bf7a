"""The items that each form is made of, in their order: numbers, titles, absurd sizes. They stand in a data file."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Item:
    """An item of a form. `titles` are the wordings in use, `expected` says that no complete report lacks it,
    `expected_with` that none lacks it that has the item of that number; a body outside `smallest` to `largest`
    characters is absurd. `rank` is its place in the order of the form."""

    key: str
    part: str
    number: str
    titles: tuple[str, ...]
    expected: bool
    expected_with: str
    smallest: int
    largest: int
    rank: int


@dataclass(frozen=True)
class Scheme:
    """The items of a form. `parts_in_key` is set where numbers repeat in each part, as in a 10-Q."""

    form: str
    parts_in_key: bool
    items: tuple[Item, ...]

    def numbered(self, number: str) -> tuple[Item, ...]:
        """Return the items that bear `number`: two at most, one in each part; none for an unknown number."""
        return tuple(item for item in self.items if item.number == number)


@cache
def _schemes() -> dict[str, Scheme]:
    text = files("finrag_pipelines.parsing.sections").joinpath("item_titles.json").read_text(encoding="utf-8")
    schemes: dict[str, Scheme] = {}
    for name, table in json.loads(text).items():
        parts_in_key = table.get("parts_in_key", False)
        items = tuple(
            Item(
                key=f"Part {row['part']} Item {row['number']}" if parts_in_key else f"Item {row['number']}",
                part=row.get("part", ""),
                number=row["number"],
                titles=tuple(row["titles"]),
                expected=row.get("expected", False),
                expected_with=row.get("expected_with", ""),
                smallest=row.get("smallest", 0),
                largest=row["largest"],
                rank=rank,
            )
            for rank, row in enumerate(table["items"])
        )
        scheme = Scheme(name, parts_in_key, items)
        schemes |= dict.fromkeys(table["forms"], scheme)
    return schemes


def scheme_for(form: str | None) -> Scheme | None:
    """Return the items of `form`, whose amendments (`10-K/A`) have the same, or None for a form without items."""
    return _schemes().get((form or "").upper().replace(" ", "").removesuffix("/A"))
