"""What every layout must keep: elements in order, nothing outside them but white space, ranges inside the text."""

from finrag_pipelines.parsing.model import Layout, Table


def check_cover(layout: Layout) -> None:
    """Fail where elements overlap, or where text that is not white space lies in none of them."""
    position = 0
    for element in layout.elements:
        assert position <= element.start < element.end <= len(layout.text), (element, position)
        gap = layout.text[position : element.start]
        assert not gap.strip(), f"{gap.strip()[:60]!r} before {element} lies in no element"
        position = element.end
    rest = layout.text[position:]
    assert not rest.strip(), f"{rest.strip()[:60]!r} after the last element lies in no element"
    for page, following in zip(layout.pages, layout.pages[1:], strict=False):
        assert page.end <= following.start
        assert following.index == page.index + 1
    for table in layout.tables:
        check_table(layout, table)


def check_table(layout: Layout, table: Table) -> None:
    """Fail where a cell lies outside its row, or a row outside its table."""
    for row in table.rows:
        assert table.start <= row.start < row.end <= table.end
        for cell in row.cells:
            assert row.start <= cell.start < cell.end <= row.end
            assert layout.text[cell.start : cell.end].strip()
        if row.label and row.cells:
            assert row.label.split()[0] in layout.text[row.start : row.end]


def rows_of(table: Table) -> dict[str, list[str | None]]:
    """The values of each row by its path and label."""
    return {" > ".join((*row.path, row.label)): [cell.value for cell in row.cells] for row in table.rows if row.cells}


def headers_of(table: Table) -> list[str]:
    """The headers of the columns, in order of column."""
    found = {cell.column: cell.header for row in table.rows for cell in row.cells}
    return [found[column] for column in sorted(found)]
