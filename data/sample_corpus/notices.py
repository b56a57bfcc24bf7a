"""Announcements of an invented fund as HTML and text, an internal memo for restricted readers, and the sidecars."""

import json
import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path

from .docx import write_docx
from .layout import HERE, MARK, NOTICE, Block, Row, Table, blocks

FUND = "HARBORLIGHT"
FUND_NAME = "Harborlight Dividend Equity Fund"
_ANNOUNCEMENTS = {  # date -> title, file format
    "2022-03-18": ("Announcement to Shareholders", "txt"),
    "2023-06-15": ("Announcement of Changes to the Fund", "htm"),
    "2023-09-29": ("Correction Notice", "txt"),
    "2024-03-22": ("Annual Letter and Announcement to Shareholders", "htm"),
}
_TERMS = Table(
    "Terms of the Fund",
    "",
    ("Until July 31, 2023", "From August 1, 2023"),
    (
        Row("Benchmark index", ("Meridian US Large Cap Index", "Meridian US Dividend Select Index"), "text"),
        Row("Management fee (per annum)", ("0.65%", "0.55%"), "text"),
        Row("Limit for a single issuer (of net assets)", ("5%", "7%"), "text"),
    ),
)
_MEMO_DATE = "2026-05-06"
_TAGS = {"part": "h1", "item": "h2", "sub": "h3", "text": "p", "center": "p", "small": "small", "bullet": "li"}


def _html(title: str, body: Sequence[Block]) -> str:
    parts = []
    for block in body:
        if block.table is not None:
            heads = "".join(f"<th>{escape(c)}</th>" for c in block.table.columns)
            rows = "\n".join(
                f"<tr><td>{escape(r.label)}</td>{''.join(f'<td>{escape(str(v))}</td>' for v in r.values)}</tr>"
                for r in block.table.rows
            )
            caption = f"<caption>{block.table.caption}</caption>"
            parts.append(f'<table border="1">\n{caption}\n<tr><th></th>{heads}</tr>\n{rows}\n</table>')
            continue
        tag = _TAGS[block.kind]
        line = f"<{tag}>{escape(block.text, quote=False)}</{tag}>"
        parts.append(f"<ul>{line}</ul>" if tag == "li" else line)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>\n<body>\n'
        f"<p><small>{NOTICE}</small></p>\n" + "\n".join(parts) + f"\n<p><small>{MARK}</small></p>\n</body></html>\n"
    )


def _text(body: Sequence[Block]) -> str:
    lines = [textwrap.fill(NOTICE, 78)]
    for block in body:
        if block.kind in ("part", "center"):
            lines.append(block.text.center(78).rstrip())
        elif block.kind == "sub":
            lines.append(block.text.upper())
        else:
            lines.append(textwrap.fill(block.text, 78))
    return "\n\n".join([*lines, MARK]) + "\n"


def _sidecar(document: Path, **identity: object) -> None:
    text = json.dumps(identity, indent=2, sort_keys=True) + "\n"
    document.with_name(f"{document.name}.meta.json").write_text(text, encoding="utf-8", newline="\n")


def write_announcements(folder: Path) -> None:
    """Write the announcements of the fund; the one of September 2023 corrects that of June 2023."""
    for date, (title, suffix) in _ANNOUNCEMENTS.items():
        markup = (HERE / "narratives" / f"fund_{date}.txt").read_text(encoding="utf-8")
        body = blocks(markup, {"terms": _TERMS})
        path = folder / f"{FUND}_announcement_{date}.{suffix}"
        text = _html(f"{FUND_NAME}: {title}", body) if suffix == "htm" else _text(body)
        path.write_text(text, encoding="utf-8", newline="\n")
        _sidecar(
            path,
            company=FUND,
            company_name=FUND_NAME,
            form="fund_announcement",
            filed=date,
            title=title,
            subjects=[FUND_NAME, "Harborlight", "Harborlight fund"],
        )


def write_memo(folder: Path) -> None:
    """Write the memo, its sidecar, and the list of those who belong to the group that may read it."""
    path = folder / f"RESEARCH_memo_{_MEMO_DATE}.docx"
    body = blocks(f"~ {NOTICE}\n\n{(HERE / 'narratives' / 'memo.txt').read_text(encoding='utf-8')}", {})
    title = "PepsiCo and Mondelez after the first quarter of 2026"
    write_docx(path, title, "Nadia Kessler-Bright", _MEMO_DATE, f"{MARK} - figures are invented", body)
    _sidecar(
        path,
        access_labels=["research"],
        company="RESEARCH",
        company_name="Investment Research",
        form="memo",
        filed=_MEMO_DATE,
        title=title,
        subjects=["PEP", "MDLZ"],
    )
    principals = json.dumps({"analyst": ["research"]}, indent=2) + "\n"
    (folder / "principals.json").write_text(principals, encoding="utf-8", newline="\n")
