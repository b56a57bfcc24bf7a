"""A report as sections of sentences, tables and plots, written as Markdown or as one self-contained HTML page."""

from dataclasses import dataclass
from html import escape

_CSS = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:.7rem 0;font-size:13px;display:block;overflow-x:auto}"
    "th,td{border:1px solid #ddd;padding:.25rem .55rem;text-align:left;vertical-align:top}th{background:#f3f3f3}"
    "h2{margin-top:2.2rem;border-bottom:1px solid #ddd}svg{max-width:100%;height:auto;margin:.6rem 0}"
)


@dataclass(frozen=True)
class Table:
    """Column names and rows of text; `caption` is written above."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a report. Plots are SVG and stand in the HTML alone; the tables say the same."""

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """A titled sequence of sections."""

    title: str
    sections: tuple[Section, ...]


def to_markdown(report: Report) -> str:
    """Return the report as Markdown, plots left out."""
    lines = [f"# {report.title}", ""]
    for section in report.sections:
        lines += [f"## {section.title}", ""]
        lines += [line for text in section.text for line in (text, "")]
        for table in section.tables:
            lines += [f"**{table.caption}**", ""] if table.caption else []
            lines.append("| " + " | ".join(map(_cell, table.columns)) + " |")
            lines.append("|" + "---|" * len(table.columns))
            lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in table.rows]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def to_html(report: Report) -> str:
    """Return the report as one page that loads nothing."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{escape(report.title)}</title><style>{_CSS}</style></head><body><h1>{escape(report.title)}</h1>",
    ]
    for section in report.sections:
        parts.append(f"<h2>{escape(section.title)}</h2>")
        parts += [f"<p>{escape(text)}</p>" for text in section.text]
        parts += section.plots
        for table in section.tables:
            parts.append(f"<p><b>{escape(table.caption)}</b></p>" if table.caption else "")
            head = "".join(f"<th>{escape(one)}</th>" for one in table.columns)
            body = "".join(f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in row)}</tr>" for row in table.rows)
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    return "".join([*parts, "</body></html>\n"])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
