"""Tables whose cells lost their spans, as pandas writes them to Markdown: columns are told by order, not by place."""

from finrag_pipelines.parsing.tables.grid_cells import GridCell, GridLine, is_value


def realign(lines: list[GridLine]) -> None:
    """Move the cells of `lines` into one grid column per column of figures, where the header says how many there are.

    A `$` in a cell of its own shifts the figures of its row; the n-th figure still belongs to the n-th header. A row
    with fewer figures is placed by the raw columns that full rows used, and left where it stands where those differ.
    """
    first = next(
        (index for index, line in enumerate(lines) if any(is_value(cell.text) for cell in _values(line))), None
    )
    if not first:
        return
    count = max(len(_values(line)) for line in lines[:first])
    body = [line for line in lines[first:] if any(is_value(cell.text) for cell in _values(line))]
    full = [line for line in body if len(_values(line)) == count]
    if not count or len(full) < 0.6 * len(body):
        return
    seen: dict[int, set[int]] = {}
    for line in full:
        for order, cell in enumerate(_values(line)):
            seen.setdefault(cell.core[0], set()).add(order)
    beyond = 1 + count
    for index, line in enumerate(lines):
        values = _values(line)
        if len(values) == count:
            for order, cell in enumerate(values):
                _move(cell, order + 1, order + 2)
        elif index < first and values and count % len(values) == 0:
            width = count // len(values)
            for order, cell in enumerate(values):
                _move(cell, 1 + order * width, 1 + (order + 1) * width)
        else:
            for cell in values:
                orders = seen.get(cell.core[0], set())
                place = min(orders) + 1 if len(orders) == 1 else beyond + 1 + cell.core[0]
                _move(cell, place, place + 1)


def _values(line: GridLine) -> list[GridCell]:
    return [cell for cell in line.cells if cell.start > 0]


def _move(cell: GridCell, start: int, end: int) -> None:
    cell.start, cell.end, cell.core = start, end, (start, end)
