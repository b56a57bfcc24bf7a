"""What the cover of a filing says: form, registrant, period, trading symbol. Only its first pages are looked at."""

import re
from dataclasses import dataclass
from datetime import date

from finrag_pipelines.catalog.companies import load_companies, name_key
from finrag_pipelines.catalog.period_mentions import find_dates, parse_date
from finrag_pipelines.parsing.identity.forms import canonical_form, is_annual, is_quarterly

COVER_CHARACTERS = 20_000

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DATE = (
    rf"{_MONTH} ?\d{{1,2}}(?:st|nd|rd|th)? ?,? ?(?:19|20)\d\d|\d{{1,2}}/\d{{1,2}}/(?:\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}} {_MONTH},? (?:19|20)\d\d"
)
_FORM = re.compile(
    r"\bform ?(?:type ?)?:? ?(10[-‐‑–— ]?k(?:405|sb|t)?|10[-‐‑–— ]?q(?:sb|t)?|20[-‐‑–— ]?f|40[-‐‑–— ]?f|"
    r"8[-‐‑–— ]?k|6[-‐‑–— ]?k|11[-‐‑–— ]?k"
    r"|s[-‐‑–— ]?\d{1,2}|f[-‐‑–— ]?\d{1,2}|n[-‐‑–— ]?(?:csr|1a|cen|px|port)|def ?14a|sd|144|[345])"
    r"( ?/ ?a)?(?![\w-])",
    re.IGNORECASE,
)
_COMMISSION = re.compile(
    r"united ?states[ _]{0,6}(?:of ?america )?securities ?and ?exchange ?commission"
    r"|securities ?and ?exchange ?commission[ _,.=-]{0,40}washington",
    re.IGNORECASE,
)
_OWNERSHIP = re.compile(
    r"statement of changes in beneficial ownership|initial statement of beneficial ownership"
    r"|annual statement of (?:changes in )?beneficial ownership|\bsec form [345]\b",
    re.IGNORECASE,
)
_OWNERSHIP_FORM = re.compile(r"\bform ([345])\b", re.IGNORECASE)
_AMENDMENT = re.compile(r"\(? ?amendment no\. ?\d{1,2}", re.IGNORECASE)
_PERIOD = re.compile(
    r"(?:fiscal ?years?|quarterly ?periods?|fiscal ?quarters?|quarters?|years?|transition ?period ?from .{3,40}? to"
    r"|(?:twelve|three|six|nine) months|period of report|\d\d weeks)(?: ?(?:ended|ending|end))?:? ?\.{0,3} ?"
    rf"(?P<date>{_DATE})",
    re.IGNORECASE,
)
_ENDED = re.compile(
    rf"for the (?:fiscal |quarterly |annual )?(?:year|period|quarter)s?(?: ended| ending)?:? ?(?P<date>{_DATE})",
    re.IGNORECASE,
)
_REGISTRANT = re.compile(
    r"\( ?(?:exact ?name|name) ?of ?(?:the ?)?(?:small ?business ?issuer|registrant|issuer|issuing entity)[^()]{0,80}"
    r"\)|\( ?(?:registrant|issuer) ?name ?\)|\(exact name[^()]{0,80}\)",
    re.IGNORECASE,
)
_FILE_NUMBER = re.compile(
    r"(?:commission|sec) ?file ?(?:number|no)s?\.?:? ?(?:of (?:the )?(?:issuing entity|registrant|depositor):? ?)?"
    r"(?:[\d]{1,3}[-‐‑–][\d]{3,6}(?:[-‐‑–]\d{1,3})?)?",
    re.IGNORECASE,
)
_BARE_FILE_NUMBER = re.compile(r"\b(?:0|1|2|000|001|002|333)-\d{4,6}(?:-\d{2})?\b")
_NO_SYMBOL = frozenset({"NYSE", "NASDAQ", "NONE", "THE", "NA"})
_RULE = re.compile(r"[_=*–—-]{4,}")
_SYMBOL = re.compile(
    r"(?i:par value|stated value|shares?|common stock|units?|no par)[^A-Za-z]{0,14}(?i:per (?:common "
    r")?share|of \$?[\d.]+)?"
    r"[ ,|)]{1,12}(?P<symbol>[A-Z]{1,5}(?:[./-][A-Z]{1,2})?)[ |]{1,12}"
    r"(?i:(?:the )?(?:new york stock|nasdaq|nyse|chicago stock|cboe))"
)
_EVENT_DATE = re.compile(
    rf"date ?of ?(?:the )?(?:report|earliest event reported)[^.;]{{0,60}}?:? ?(?P<date>{_DATE})(?: ?\( "
    rf"?(?P<event>{_DATE}) ?\))?",
    re.IGNORECASE,
)
_DATE_ABOVE = re.compile(rf"(?P<date>{_DATE}) ?(?:\(|date of report)[^.]{{0,20}}?date of", re.IGNORECASE)
_ISSUER = re.compile(
    r"issuer name (?:and|&) ticker or trading symbol[^A-Za-z]{0,200}(?P<name>[A-Z][^\[\]|]{1,80}?) ?\[ "
    r"?(?P<ticker>[A-Z.]{1,6}) ?\]",
    re.IGNORECASE,
)
_SELF_NAMES = (
    re.compile(r"[Tt]he (?:terms?|words?) [“\"]?(?P<name>[A-Z][\w&.,'’ -]{1,60}?),?[”\"]", re.UNICODE),
    re.compile(
        r"(?:refers?|mean|reference is made) (?:only |collectively )?to (?:the )?(?P<name>[A-Z][\w&.,'’ "
        r"-]{2,60}?)(?:,? (?:and|together|or|a|an|excluding|its)\b|\.? ?[(;])"
    ),
    re.compile(
        r"(?P<name>[A-Z][\w&.,'’ -]{2,60}?),? (?:and|AND) (?:its |ITS )?(?:[Cc]onsolidated |CONSOLIDATED "
        r")?(?:[Ss]ubsidiaries|SUBSIDIARIES)"
    ),
)


@dataclass(frozen=True)
class Cover:
    """What a cover states; None for what it does not. `form` carries `/A` for an amendment; `symbol` is the trading
    symbol; `reported` the date of an 8-K, `event` that of its earliest event."""

    form: str | None = None
    registrant: str | None = None
    symbol: str | None = None
    period_end: date | None = None
    reported: date | None = None
    event: date | None = None


def flat(text: str) -> str:
    """Return the text on one line: every run of white space, table rules and table bars is one blank."""
    return re.sub(r"\s+", " ", re.sub(r"\|[-:| ]{2,}\||[\u200b\ufeff|]|(?m:^#{1,6} )", " ", text))


def read_cover(text: str) -> Cover | None:
    """Return what the cover at the top of `text` states, or None where the text opens with no cover of a filing."""
    head = flat(text[:COVER_CHARACTERS])
    ownership = _OWNERSHIP.search(head[:4000])
    if ownership:
        numbered = _OWNERSHIP_FORM.search(head[:4000])
        issuer = _ISSUER.search(head)
        return Cover(
            form=numbered[1] if numbered else "4",
            registrant=issuer["name"].strip() if issuer else None,
            symbol=issuer["ticker"] if issuer else None,
        )
    form_at = _form_on_cover(head)
    if form_at is None:
        return None
    form, place = form_at
    period = next((m for pattern in (_ENDED, _PERIOD) if (m := pattern.search(head, 0, place + 4000))), None)
    reported, event = _event_dates(head[: place + 4000])
    if form.startswith("6-K") and event is None:  # a report of a foreign issuer shows its date without a caption
        reported = event = _first_day(head[place : place + 1500])
    return Cover(
        form=form,
        registrant=_registrant(head),
        symbol=next((m["symbol"] for m in _SYMBOL.finditer(head) if m["symbol"] not in _NO_SYMBOL), None),
        period_end=parse_date(period["date"]) if period and (is_annual(form) or is_quarterly(form)) else None,
        reported=reported,
        event=event,
    )


def _form_on_cover(head: str) -> tuple[str, int] | None:
    """Return the form and its place where the Commission's name stands beside it; in running text it is no cover."""
    commission = _COMMISSION.search(head[:5000])
    if commission is None:
        return None
    proxy = re.search(r"schedule 14a\b", head[: commission.end() + 400], re.IGNORECASE)
    if proxy:
        return "DEF 14A", proxy.start()
    for match in _FORM.finditer(head[: commission.end() + 3000]):
        if match.start() > commission.end() + 1500:
            break
        form = canonical_form(match[1] + (match[2] or ""))
        near = head[max(0, match.start() - 120) : match.end() + 160]
        if "/" not in form and _AMENDMENT.search(near):
            form += "/A"
        return form, match.start()
    return None


def _registrant(head: str) -> str | None:
    """Return the name above "(Exact name of registrant …)"; without such a caption, or with an empty one, the name
    behind a file number, as covers of several registrants and a few others have it."""
    caption = _REGISTRANT.search(head)
    if caption:
        return _last_name(head[max(0, caption.start() - 240) : caption.start()])
    for number in [*_FILE_NUMBER.finditer(head), *_BARE_FILE_NUMBER.finditer(head)][:12]:
        after = head[number.end() : number.end() + 90].lstrip(" _-:.")
        name = _known_prefix(after) or _legal_prefix(after)
        if name:
            return name
    return None


def _legal_prefix(text: str) -> str | None:
    """Return the name with a legal form at the beginning of a text (MICROSOFT CORPORATION WASHINGTON 91-…)."""
    legal = re.match(
        r"[A-Z0-9][\w&.,'’ -]{1,60}?\b(?i:inc|incorporated|corporation|corp|company|ltd|limited|plc|llc)\b\.?", text
    )
    return legal[0].strip(" ,") if legal else None


def _last_name(before: str) -> str | None:
    """Return the company name at the end of the text before the caption: behind a rule, a file number or a label."""
    before = before.rstrip(" _-–—*=")
    start = max((m.end() for pattern in (_FILE_NUMBER, _RULE) for m in pattern.finditer(before)), default=0)
    name = before[start:]
    name = re.sub(
        r"^.*(?:\bto|\bOR|number:?|file no\.?:?|20549|report(?:ed)?\)|\.jpg\)|19[34][34]|14a-12)[ _.]+(?=[A-Z0-9])",
        "",
        name,
        count=1,
    )
    for found in find_dates(name)[::-1]:
        name = name[found[1] :]
        break
    name = re.sub(r"^[\d\s-]{5,}", "", name.strip(" .,:;_-–—*#()"))
    if not name or len(name) > 120 or not re.search(r"[A-Za-z\u4e00-\u9fff]{2}", name):
        return None
    return tidy_name(name)


def tidy_name(name: str) -> str:
    """Return a company name without what layout did to it: small capitals set apart ("R ESORTS"), the name given twice
    (in a logo and in type), a shouted headline before it, its final point lost."""
    if len(re.findall(r"\b[A-Z] [A-Z]{2,}\b", name)) >= 2:
        name = re.sub(r"\b([A-Z]) (?=[A-Z]{2,}\b)", r"\1", name)
    words = name.split()
    for cut in range(1, len(words)):
        if name_key(" ".join(words[cut:])).startswith(name_key(" ".join(words[:cut])) or "\0"):
            words = words[cut:]
            break
    shouted = next((i for i, word in enumerate(words) if re.search(r"[a-z]", word)), len(words))
    if 3 <= shouted < len(words):
        words = words[shouted:]
    name = " ".join(words)
    return name + "." if re.search(r"\b(?:inc|corp|co|ltd)$", name, re.IGNORECASE) else name


def _known_prefix(text: str) -> str | None:
    words = text.split()[:8]
    for count in range(len(words), 0, -1):
        name = " ".join(words[:count])
        if load_companies().by_name(name) and not load_companies().is_ordinary_word(name):
            return name
    return None


def _event_dates(head: str) -> tuple[date | None, date | None]:
    match = _EVENT_DATE.search(head)
    if match:
        reported = parse_date(match["date"])
        return reported, parse_date(match["event"]) if match["event"] else reported
    above = _DATE_ABOVE.search(head)
    day = parse_date(above["date"]) if above else None
    return day, day


def _first_day(head: str) -> date | None:
    dates = find_dates(head)
    return dates[0][2] if dates else None


def name_in_body(text: str) -> tuple[str, str] | None:
    """Return (name, how it was found) for a filing whose cover shows its name only as a picture: what "the Company"
    stands for, the head of its statements, or the one known company whose full name it repeats."""
    head = re.sub(r"\s+", " ", text[: COVER_CHARACTERS * 4])
    table = load_companies()
    for pattern in _SELF_NAMES:
        for match in pattern.finditer(head):
            name = match["name"].strip(" ,.")
            if table.by_name(name):
                return name, "body: what the document calls itself"
    for pattern in _SELF_NAMES:
        for match in pattern.finditer(head):
            name = match["name"].strip(" ,")
            if re.search(
                r"\b(?:Inc|Corp|Corporation|Company|Co|Ltd|Limited|plc|PLC|LLC|L\.P|LP|Trust|Group)\.?$", name
            ):
                return name, "body: what the document calls itself"
    return None
