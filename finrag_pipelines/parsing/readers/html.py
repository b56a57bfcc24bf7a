"""HTML filings to a layout: inline XBRL, the HTML of 1999 to 2008, press releases, fund notices.

lxml gives the tree and the tables' grid. unstructured is not used for HTML: its elements carry no offsets and its
tables no column spans, and pages, headings, running lines and inline-XBRL facts would have to be found beside it.
"""

import re
from dataclasses import replace

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from finrag_pipelines.parsing.model import Kind, Layout
from finrag_pipelines.parsing.readers.assemble import lay_out
from finrag_pipelines.parsing.readers.html_walk import walk
from finrag_pipelines.parsing.readers.limits import Deadline
from finrag_pipelines.parsing.readers.markup import clean, parse_markup
from finrag_pipelines.parsing.readers.plaintext import layout_of_text

_WRAPPER = re.compile(rb"\A\s{0,200}<DOCUMENT>.{0,4000}?<TEXT>\s{0,200}", re.S | re.I)
_WRAPPER_FIELD = re.compile(rb"<(TYPE|SEQUENCE|FILENAME|DESCRIPTION)>([^\r\n<]{0,300})", re.I)


def read_html(content: bytes, deadline: Deadline | None = None) -> Layout:
    """Read an HTML document.

    Raises UnreadableError: `too_large`, `text_too_large`, `too_deep`, `no_text`, `time_budget`.
    """
    deadline = deadline or Deadline()
    metadata, body = _unwrap(content)
    root, flags = parse_markup(body)
    if (plain := _preformatted(root)) is not None:
        layout = layout_of_text(plain, deadline)
        return replace(layout, kind=Kind.HTML, metadata=layout.metadata | metadata, flags=(*layout.flags, *flags))
    stream = walk(root, deadline)
    del root  # the tree of a large filing takes more memory than its layout
    if stream.title:
        metadata["title"] = stream.title
    return lay_out(stream, Kind.HTML, metadata, flags, deadline)


def _preformatted(root: etree._Element) -> str | None:
    """Return the text of a filing typewritten inside `<PRE>`, with a form feed for each `<PAGE>`; None for others."""
    if next(root.iter("pre"), None) is None:
        return None
    everything = sum(len(text.strip()) for text in root.itertext(etree.Element))
    parts: list[str] = []
    for top in root.iter("pre"):
        if any(above.tag == "pre" for above in top.iterancestors()):
            continue
        for event, element in etree.iterwalk(top, events=("start", "end")):
            if event == "start":
                parts.append("\f" if element.tag == "page" else "")
                parts.append(element.text or "")
            elif element is not top:
                parts.append(element.tail or "")
        parts.append("\n\n")
    text = "".join(parts)
    return text if sum(map(len, text.split())) > 0.7 * everything and "\n" in text.strip() else None


def _unwrap(content: bytes) -> tuple[dict[str, str], bytes]:
    """Part the `<DOCUMENT><TYPE>…<TEXT>` wrapper of a submission from the markup inside it."""
    match = _WRAPPER.match(content)
    if not match:
        return {}, content
    fields = {
        name.decode().lower(): clean(value.decode("cp1252", "replace")).strip()
        for name, value in _WRAPPER_FIELD.findall(match[0])
    }
    return fields, content[match.end() :]
