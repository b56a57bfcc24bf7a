"""The evidence page: one HTML file, without script or outside resource, that shows an answer beside what bears it.

It is given a record as it may be shown (see answering/disclosure.py) and decides nothing about access itself.
"""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from finrag_pipelines.catalog.catalog import Catalog, read_catalog
from finrag_pipelines.evidence.model import Difference
from finrag_pipelines.evidence.page_style import STYLE
from finrag_pipelines.evidence.passages import Passage, TableView, passage_at
from finrag_pipelines.evidence.picture import Picture, Span, draw_marked
from finrag_pipelines.evidence.records import (
    ERASED,
    AnswerRecord,
    CitationRow,
    ClaimRow,
    DisclosureRow,
    GateRow,
    Sealed,
)
from finrag_pipelines.parsing.model import Kind, ParsedDocument
from finrag_pipelines.parsing.representation_store import read_representation
from finrag_pipelines.storage import Store, StoreError

_MARKERS = re.compile(r"(?: \[\d{1,4}\])+$")
_FORMS = {"transcript": "earnings call", "memo": "memo", "fund_announcement": "fund announcement"}
_GATES = {
    "question": "The question can be understood",
    "evidence_type": "Documents of this kind can answer it",
    "company": "The companies are in the corpus",
    "scope": "Every company and period asked for is covered",
    "retrieval_score": "Retrieval score",
    "delivery": "Passages handed to the generator",
    "sufficiency": "The passages contain what is asked for",
    "model": "The model did not decline",
    "citations": "Every sentence cites a delivered passage",
    "claims": "Every sentence is borne out by its citation",
    "disclosure": "Access read again before showing",
}


@dataclass(frozen=True)
class Showing:
    """What the page says about itself: the place of the record in the chain, the disclosure that it is, and what
    verification found."""

    sealed: Sealed
    disclosure: DisclosureRow
    disclosure_sequence: int
    differences: Sequence[Difference]


def evidence_page(store: Store, record: AnswerRecord, showing: Showing) -> str:
    """Return the page of a record as it may be shown. Passages are read from the stored bytes."""
    return _Page(store, record, showing).html()


def _text(value: object) -> str:
    """Escape text of a document; characters that a browser would obey and not show are replaced."""
    return escape("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in str(value)))


class _Page:
    def __init__(self, store: Store, record: AnswerRecord, showing: Showing) -> None:
        self.store, self.record, self.showing = store, record, showing
        self.catalog: Catalog = read_catalog(store)
        self._documents: dict[str, ParsedDocument | None] = {}
        self._shown: set[int] = set()

    def html(self) -> str:
        parts = [self._head(), self._answer(), self._derivations(), self._gates(), self._candidates(), self._chain()]
        title = f"Evidence for answer {self.record.answer_id}"
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
            "style-src 'unsafe-inline'\">"
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{_text(title)}</title><style>{STYLE}</style></head>\n<body><main>\n"
            + "\n".join(part for part in parts if part)
            + "\n</main></body></html>\n"
        )

    def _head(self) -> str:
        record = self.record
        answered = record.decision == "answered"
        badge = "Answered" if answered else f"Refused · {record.refusal_code}"
        facts = [
            ("Asked by", record.principal),
            ("Asked at (UTC)", record.asked_at[:19].replace("T", " ")),
            ("Documents known as of", record.as_of or "no limit"),
            ("Written by", record.generator),
            ("Index version", record.index_version[:16]),
            ("Configuration", record.configuration[:16]),
            ("Policy epoch when asked", str(record.policy_epoch)),
            ("Record number", str(self.showing.sealed.sequence)),
        ]
        listed = "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in facts)
        return (
            f'<div class="kicker">Evidence for answer <code>{_text(record.answer_id)}</code></div>'
            f"<h1>{_text(record.question)}</h1>"
            f'<span class="badge {"good" if answered else "bad"}">{_text(badge)}</span>'
            f'<dl class="facts sheet">{listed}</dl>{self._proof()}{self._disclosed()}'
        )

    def _proof(self) -> str:
        if self.showing.differences:
            listed = "".join(f"<li>{_text(one)}</li>" for one in self.showing.differences)
            return (
                '<div class="proof bad"><b>Not as recorded.</b> When this page was written, the following differed '
                f"from what was recorded:<ul>{listed}</ul></div>"
            )
        quotes = len({(one.marker) for one in self.record.citations})
        read = (
            f"{quotes} quoted passage{'s' if quotes != 1 else ''} read back from the stored bytes, " if quotes else ""
        )
        return (
            f'<div class="proof good"><b>Verified when this page was written:</b> {read}'
            "the hash of the record computed anew, the database compared with it. Nothing differs.</div>"
        )

    def _disclosed(self) -> str:
        shown = self.showing.disclosure
        # One from whom everything is withheld reads what one reads for whom nothing is there.
        what = {"shown": ", all of it", "partly withheld": ", without what they may not read now"}.get(
            shown.outcome, ""
        )
        return (
            f'<p class="verdict">Disclosure {self.showing.disclosure_sequence}: shown to '
            f"<b>{_text(shown.principal)}</b> at {_text(shown.shown_at[:19].replace('T', ' '))} UTC "
            f"under policy epoch {shown.policy_epoch}{what}.</p>"
        )

    def _answer(self) -> str:
        record = self.record
        if record.decision != "answered":
            missing = "".join(f"<li>{_text(one)}</li>" for one in record.missing)
            listed = f"<p class='verdict'>Missing:</p><ul>{missing}</ul>" if missing else ""
            return (
                "<h2>Refusal</h2><p>No answer is given. This is the reason.</p>"
                f'<div class="sheet refusal"><code>{_text(record.refusal_code)}</code>'
                f"<p>{_text(record.refusal_reason)}</p>{listed}</div>" + self._dropped()
            )
        kept = "".join(self._claim(one) for one in record.claims if one.verdict != "dropped")
        return (
            "<h2>Answer and evidence</h2><p>Each sentence of the answer on the left; on the right the passages that "
            "bear it, marked in their surroundings as they stand in the stored document.</p>"
            f'<div class="sheet">{kept}</div>' + self._dropped()
        )

    def _dropped(self) -> str:
        dropped = [one for one in self.record.claims if one.verdict == "dropped"]
        if not dropped:
            return ""
        listed = "".join(
            f'<div class="claim dropped"><p class="sentence">{_text(one.sentence)}</p>'
            f'<p class="verdict"><b>Dropped</b> · {_text(one.reason)}</p></div>'
            for one in dropped
        )
        return (
            "<h2>Sentences that were dropped</h2><p>Drafted, and not shown as part of the answer: the checks did not "
            f'find them borne out.</p><div class="sheet">{listed}</div>'
        )

    def _claim(self, claim: ClaimRow) -> str:
        citations = [one for one in self.record.citations if one.claim == claim.claim]
        markers = {one.marker for one in citations}
        body = _MARKERS.sub("", claim.sentence)
        links = "".join(f' <a class="ref" href="#c{marker}">{marker}</a>' for marker in sorted(markers))
        verdict = "A statement about the evidence, not about a document" if claim.verdict == "remark" else claim.reason
        label = "Remark" if claim.verdict == "remark" else "Supported"
        reason = f" · {_text(verdict)}" if verdict else ""
        new = [one for one in citations if one.marker not in self._shown]
        self._shown |= markers
        passages = "".join(map(self._passage, new))
        again = sorted(markers - {one.marker for one in new})
        if again:
            seen = ", ".join(f'<a class="ref" href="#c{marker}">{marker}</a>' for marker in again)
            passages += f'<p class="verdict">Shown above: {seen}</p>'
        return (
            f'<section class="claim"><div><p class="sentence">{_text(body)}{links}</p>'
            f'<p class="verdict"><b>{label}</b>{reason}</p></div><div>{passages}</div></section>'
        )

    def _passage(self, citation: CitationRow) -> str:
        document = self._document(citation.representation_id)
        if citation.quote == ERASED:
            context = '<div class="context">[erased]</div>'
        elif document is None:
            context = f'<div class="context"><mark>{_text(citation.quote)}</mark></div>'
        else:
            context = _context(passage_at(document, citation.start, citation.end))
        place = [citation.speaker or citation.section or ""]
        if citation.page_index is not None:
            label = f"page {citation.page_label}" if citation.page_label else f"page index {citation.page_index}"
            place.append(label)
        source = self.catalog.sources.get(citation.source_id)
        company = source.identity.company_name if source and source.received else None
        form = _FORMS.get(citation.form, citation.form)
        name = " · ".join(part for part in (company or citation.company, form, citation.period) if part)
        return (
            f'<article class="passage" id="c{citation.marker}"><header><a class="ref">{citation.marker}</a>'
            f"<div><b>{_text(name)}</b> <span>{_text(' · '.join(part for part in place if part))}</span></div></header>"
            f"{context}{self._picture(citation, document)}"
            f"<footer>{_text(citation.source_id)} version {citation.version} · characters {citation.start:,} to "
            f"{citation.end:,}{_page_index(citation)} · bytes <code>{citation.content_sha256[:16]}…</code> · text "
            f"<code>{citation.representation_id[:16]}…</code></footer></article>"
        )

    def _document(self, representation_id: str) -> ParsedDocument | None:
        if representation_id not in self._documents:
            try:
                self._documents[representation_id] = read_representation(self.store, representation_id)
            except StoreError:
                self._documents[representation_id] = None  # said above, among what differs
        return self._documents[representation_id]

    def _picture(self, citation: CitationRow, document: ParsedDocument | None) -> str:
        if document is None or document.kind is not Kind.PDF or citation.quote == ERASED:
            return ""
        try:
            content = self.store.get_object(citation.content_sha256)
        except StoreError:
            return ""
        shown = []
        for page in document.pages:
            if page.start < citation.end and citation.start < page.end:
                span = Span(citation.start, citation.end, citation.marker)
                shown.append(_figure(draw_marked(content, document, page.index, [span]), page.index, page.label))
        return "".join(shown)

    def _derivations(self) -> str:
        if not self.record.derivations:
            return ""
        rows = "".join(
            f"<tr><td>{one.claim}</td><td>{_text(one.name)}</td><td><code>{_text(one.formula)}</code></td>"
            f"<td><code>{_text(one.operands)}</code></td><td><code>{_text(one.result)}</code></td></tr>"
            for one in self.record.derivations
        )
        return (
            "<h2>Computed numbers</h2><p>Numbers that stand in no document: formula, operands as name, value in base "
            "units and number of the citation, and the result.</p>"
            '<div class="sheet tablewrap"><table><tr><th>Sentence</th><th>Measure</th><th>Formula</th><th>Operands</th>'
            f"<th>Result</th></tr>{rows}</table></div>"
        )

    def _gates(self) -> str:
        if not self.record.gates:
            return ""
        return (
            "<h2>Gates</h2><p>What had to hold, in the order in which it was checked. The first gate that stops a "
            'question ends it with a refusal.</p><ol class="ladder sheet">'
            f"{''.join(map(_gate, self.record.gates))}</ol>"
        )

    def _candidates(self) -> str:
        if not self.record.candidates:
            return ""
        delivered = {one.fragment_id: one.position for one in self.record.deliveries}
        cited: dict[str, set[int]] = {}
        for one in self.record.citations:
            cited.setdefault(one.fragment_id, set()).add(one.marker)
        rows = []
        for one in self.record.candidates:
            position = delivered.get(one.fragment_id)
            markers = sorted(cited.get(one.fragment_id, ()))
            kind = " ".join(name for name, yes in (("delivered", position), ("cited", markers)) if yes)
            links = " ".join(f'<a class="ref" href="#c{marker}">{marker}</a>' for marker in markers)
            rows.append(
                f'<tr class="{kind}"><td class="n">{one.rank}</td><td>{_text(one.stage)}</td>'
                f"<td>{_text(one.source_id)}</td><td>{_text(one.period or '')}</td>"
                f'<td class="n">{_ranked(one.lexical_rank, one.lexical_score)}</td>'
                f'<td class="n">{_ranked(one.vector_rank, one.vector_score)}</td>'
                f'<td class="n">{one.score:.4f}</td><td class="n">{position or ""}</td><td>{links}</td>'
                f"<td><code>{_text(one.fragment_id[:12])}</code></td></tr>"
            )
        return (
            "<h2>What was found, delivered and cited</h2><p>Found is not read, and read is not cited. Every passage "
            "that retrieval or the search of statements found, its rank and score in the word index and the vector "
            "index, its place among what was handed to the generator, and where it is cited.</p>"
            '<div class="sheet tablewrap"><table><tr><th class="n">Rank</th><th>Found by</th><th>Source</th>'
            '<th>Period</th><th class="n">Words</th><th class="n">Vectors</th><th class="n">Score</th>'
            '<th class="n">Delivered</th><th>Cited</th><th>Fragment</th></tr>' + "".join(rows) + "</table></div>"
        )

    def _chain(self) -> str:
        sealed, record = self.showing.sealed, self.record
        rows = [
            ("Record", f"{sealed.sequence} in the chain, run {record.run_id}"),
            ("Hash of the record before it", sealed.previous_hash),
            ("Hash of this record", sealed.record_hash),
            ("Index version", record.index_version),
            ("Configuration", record.configuration),
            ("Model", record.model_digest or "none"),
            ("Prompt", record.prompt_sha256 or "none"),
            *((f"Rules: {name}", value) for name, value in (one.split("=", 1) for one in record.rule_digests)),
            *sorted(
                {(f"Bytes of {one.source_id} v{one.version}", one.content_sha256) for one in record.citations}
                | {(f"Text of {one.source_id} v{one.version}", one.representation_id) for one in record.citations}
            ),
        ]
        listed = "".join(f"<tr><td>{_text(name)}</td><td><code>{_text(value)}</code></td></tr>" for name, value in rows)
        commands = (
            f"finrag verify {record.answer_id}    reads every quote back and computes the hash of this record\n"
            "finrag verify --all    does so for every record, and computes both chains from their first entry\n"
            f"finrag replay {record.answer_id}    asks the question again on the same index version and compares"
        )
        return (
            "<h2>Chain</h2><p>SHA-256 hashes. Each record holds the hash of the one before it; texts enter it as "
            "salted commitments, so that one can be erased later and the chain still holds.</p>"
            f'<div class="sheet chain"><table>{listed}</table></div>'
            "<h2>How to check this page</h2><p>With access to the store it was written from:</p>"
            f'<div class="sheet"><pre class="mono">{_text(commands)}</pre></div>'
        )


def _page_index(citation: CitationRow) -> str:
    return "" if citation.page_index is None else f" · page index {citation.page_index}"


def _context(passage: Passage) -> str:
    if passage.table is not None:
        return _table(passage.table)
    before = ("… " if passage.cut_before else "") + passage.before
    after = passage.after + (" …" if passage.cut_after else "")
    return (
        f'<div class="context">{_text(_calm(before))}<mark>{_text(_calm(passage.quote))}</mark>'
        f"{_text(_calm(after))}</div>"
    )


def _calm(text: str) -> str:
    """Keep lines and drop the rest of the white space of a printed page."""
    return re.sub(r"[ \t]+", " ", re.sub(r"\n\s*\n", "\n", text))


def _table(table: TableView) -> str:
    width = len(table.columns) + 1
    head = "".join(f'<th class="n">{_text(one)}</th>' for one in table.columns)
    rows = "".join(
        f'<tr class="{"quoted" if row.quoted else ""}"><td>{_text(row.label)}</td>'
        + "".join(f'<td class="n">{_text(cell)}</td>' for cell in row.cells)
        + "</tr>"
        for row in table.rows
    )
    above, below = (
        f'<tr class="gap"><td colspan="{width}">{count} row{"s" if count != 1 else ""} {where}</td></tr>'
        if count
        else ""
        for count, where in ((table.above, "above"), (table.below, "below"))
    )
    title = " ".join(part for part in (f"<b>{_text(table.caption)}</b>", _text(table.units)) if part)
    return f'<div class="tablewrap"><p>{title}</p><table><tr><th></th>{head}</tr>{above}{rows}{below}</table></div>'


def _figure(picture: Picture, index: int, label: str | None) -> str:
    printed = f", printed {label}" if label else ""
    caption = f"Page {index + 1} of the PDF{printed}"
    whole = f'<img alt="{_text(caption)}" src="{_data_uri(picture.whole)}">'
    if picture.detail is None:
        note = "the passage could not be placed on the picture"
        return f"<figure>{whole}<figcaption>{_text(caption)}; {note}</figcaption></figure>"
    return (
        f'<figure><img alt="{_text(caption)}, the marked lines" src="{_data_uri(picture.detail)}">'
        f"<figcaption>{_text(caption)}, as printed</figcaption></figure>"
        f"<details><summary>Show the whole page</summary><figure>{whole}</figure></details>"
    )


def _data_uri(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _gate(gate: GateRow) -> str:
    kind, sign, said = {
        True: ("passed", "✓", "passed"),
        False: ("stopped", "✕", f"stopped here: {gate.code}"),
        None: ("recorded", "·", "recorded, decides nothing"),
    }[gate.passed]
    value = "" if gate.value is None else f"value {gate.value:.6g}"
    detail = " · ".join(part for part in (said, gate.detail, value) if part)
    return (
        f'<li class="{kind}"><i>{sign}</i><b>{_text(_GATES.get(gate.name, gate.name))}</b>'
        f"<em>{_text(gate.name)} · {_text(gate.made_by)}</em><span>{_text(detail)}</span></li>"
    )


def _ranked(rank: int | None, score: float | None) -> str:
    if rank is None:
        return ""
    return f"{rank}" if score is None else f"{rank} · {score:.3f}"
