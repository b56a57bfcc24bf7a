"""HTML filings to a layout: inline XBRL, the HTML of 1999 to 2008, press releases, fund notices.

lxml gives the tree and the tables' grid. unstructured is not used for HTML: its elements carry no offsets and its
tables no column spans, and pages, headings, running lines and inline-XBRL facts would have to be found beside it anyway.
"""

import re

from finrag_pipelines.parsing.assemble import lay_out
from finrag_pipelines.parsing.html_walk import walk
from finrag_pipelines.parsing.limits import Deadline
from finrag_pipelines.parsing.markup import clean, parse_markup
from finrag_pipelines.parsing.model import Kind, Layout

SECONDS = 60.0
_WRAPPER = re.compile(rb"\A\s{0,200}<DOCUMENT>.{0,4000}?<TEXT>\s{0,200}", re.S | re.I)
_WRAPPER_FIELD = re.compile(rb"<(TYPE|SEQUENCE|FILENAME|DESCRIPTION)>([^\r\n<]{0,300})", re.I)


def read_html(content: bytes) -> Layout:
    """Read an HTML document. Raises UnreadableError (`too_large`, `too_deep`, `no_text`, `time_budget`)."""
    deadline = Deadline(SECONDS)
    metadata, body = _unwrap(content)
    root, flags = parse_markup(body)
    stream = walk(root, deadline)
    del root  # the tree of a large filing takes more memory than its layout
    if stream.title:
        metadata["title"] = stream.title
    return lay_out(stream, Kind.HTML, metadata, flags, deadline)


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
