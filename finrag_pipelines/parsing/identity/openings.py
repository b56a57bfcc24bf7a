"""How documents without a cover open: calls, press releases, fund announcements, memos, annual reports."""

import re
from dataclasses import dataclass
from datetime import date

from finrag_pipelines.catalog.companies import Company, load_companies, name_key, repair_encoding
from finrag_pipelines.catalog.period_mentions import find_dates
from finrag_pipelines.parsing.identity.cover import tidy_name

OPENING_CHARACTERS = 4_000

_CALL_MARKS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"earnings (?:results )?(?:conference )?call|earnings call transcript|conference call\b|results conference",
        r"question[- ]and[- ]answer (?:session|portion)|investor (?:relations )?event",
        r"listen[- ]only mode|lines (?:have been|are) (?:placed|muted)",
        r"call is being recorded|\[?operator instructions|turn the (?:call|conference|floor) (?:over|to)",
        r"^\s{0,4}\**(?:operator|moderator)\b",
        r"(?:company|conference call) participants|^\s{0,4}(?:executives|analysts|management:|presentation|"
        r"speakers?)\s{0,3}$",
        r"forward[- ]looking statements? (?:on|in|during|about)|before we begin",
        r"i['’]?m here with|joining (?:me|us) (?:today|on)|thank you,? operator|ladies and gentlemen",
        r"逐字稿|業績說明會|业绩说明会|法說會|transcript\b",
    )
)
_RELEASE_MARKS = re.compile(
    r"/news\b|\b(?:for immediate release|news release|press release|exhibit ?99|ex-99|prnewswire|business "
    r"wire|globe ?newswire)"
    r"|\b(?:reports?|reported|announces?|announced|declares?)\b[^.]{0,80}\b(?:results?|quarter|dividend|earnings|income)",
    re.IGNORECASE,
)
_EXHIBIT = re.compile(r"\b(?:exhibit|ex)[- ]?(99(?:\.\d{1,2})?|13(?:\.\d{1,2})?|10(?:\.\d{1,2})?)\b", re.IGNORECASE)
_DATELINE = re.compile(r"(?:—|–|--?|;|\()\s{0,3}", re.IGNORECASE)
_LISTED = re.compile(
    r"(?P<name>[A-Z0-9][\w&.,'’!\- ]{1,70}?)[\s,]{0,3}\(?\s?(?:NYSE|NASDAQ|NasdaqGS|Nasdaq|NYSE American|"
    r"AMEX|NSE|BSE|LSE|TSX)"
    r"(?:GS|GM|CM)?\s?[:\-–]\s?(?P<ticker>[A-Z]{1,6}(?:[.-][A-Z])?)\b"
)
_CALL_NAME = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?i:welcome(?: everyone)? (?:to|you to)(?: the| our)?|joining us (?:today )?for(?: the)?|"
        r"participate in(?: the)?|"
        r"this is(?: the)?) +(?P<name>(?-i:[A-Z0-9])[\w&.,'’\- ]{1,60}?)['’]?s?[ -]+(?i:(?:fiscal |full )?(?:year )?"
        r"(?:first|second|third|fourth|[1-4](?:st|nd|rd|th)|f?q[1-4]|[1-4]q|20\d\d|fy ?\d\d|earnings|"
        r"results|conference|financial))\b",
        r"(?i:conference call|earnings call|call) (?i:of|for)(?: the)? (?P<name>[A-Z][\w&.,'’\- "
        r"]{1,50}?)(?=\.|,|[ ]?\n|$| for\b)",
        r"(?m:^)[^\n]{0,60}?\b(?:Q[1-4] (?:FY)?(?:20)?\d\d|FY ?\d\d Q[1-4])[ -]+(?P<name>[A-Z][\w&.,'’\- "
        r"]{1,60}?) (?i:earnings|conference|results)",
        r"(?m:^)[#* ]*(?P<name>[A-Z0-9][\w&.,'’!\- ]{1,60}?)(?: \((?P<ticker>[A-Z]{1,5})\))?(?:,?[ -]+|[ ]*\n[ #*]*)"
        r"(?i:(?:fiscal )?(?:(?:first|second|third|fourth)[ -]quarter|f?q[1-4]|20\d\d|[1-4]q)[^\n]{0,40}"
        r"(?:call|transcript|results))",
        r"(?m:^)[#* ]*(?i:company(?: name)?): *(?P<name>[A-Z0-9][^\n]{1,60})(?m:$)",
        r"(?m:^)[#* ]*(?P<name>[\u4e00-\u9fff]{2,12})[ _]?(?:股份|公司|20\d{6})",
    )
)
_ORDINAL_QUARTER = re.compile(r"\b(first|second|third|fourth)[- ](?:fiscal )?quarter\b", re.IGNORECASE)
_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_TEN_QS = re.compile(
    r"form 10-?q for the (?P<list>(?:(?:first|second|third|and|,)\s{0,2}){1,8})quarters? of (?P<year>20\d\d)",
    re.IGNORECASE,
)
_COMPACT_DATE = re.compile(r"(?<!\d)(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)")
_MEMO_LINE = re.compile(
    r"^[\s*#>|]{0,6}(?P<key>to|from|date|re|subject|author|prepared by|subjects|distribution|classification|"
    r"cc)\**\s?[:：]\**[ \t|]{0,6}(?P<value>[^\n]{1,300})$",
    re.IGNORECASE | re.MULTILINE,
)
_MEMO = re.compile(r"\b(?:memorandum|memo|internal note|research note)\b|备忘录|備忘錄", re.IGNORECASE)
_FUND = re.compile(
    r"基金.{0,40}(?:公告|通知)|(?:公告|通知).{0,20}基金|\b(?:fund|trust|etf)\b.{0,120}\b(?:announcement|notice)\b"
    r"|\b(?:announcement|notice)\b.{0,120}\b(?:fund|trust|unitholders|shareholders of the fund)\b",
    re.IGNORECASE | re.DOTALL,
)
_FUND_NAME = re.compile(
    r"(?P<zh>[\u4e00-\u9fff（）()A-Za-z0-9]{2,40}?(?:证券投资基金|投資基金|基金管理有限公司|基金))"
    r"|(?P<en>(?:[A-Z][\w&'’.-]*[ \t]+){1,7}(?:Fund|FUND|Trust|TRUST|ETF)\b(?:,? (?:Inc\.?|L\.?P\.?|plc))?)"
)
_ANNUAL = re.compile(
    r"\bannual report\b[\s:]{1,6}((?:19|20)\d\d)|((?:19|20)\d\d)[\s:]{1,6}annual report\b|(20\d\d) ?年 ?年?度? ?报告",
    re.IGNORECASE,
)
_ZH_COMPANY = re.compile(r"[\u4e00-\u9fff]{2,30}(?:股份有限公司|有限责任公司|有限公司)")
_LEGAL_NAME = re.compile(
    r"\b(?P<name>(?:The )?[A-Z][\w&.'’-]*(?:,? (?:[A-Z&][\w&.'’-]*|of|and|de)){0,6},? "
    r"(?:Inc|Incorporated|INC|Corp|Corporation|CORPORATION|CORP|Company|COMPANY|Co|Ltd|Limited|LIMITED|plc|PLC|LLC|LP|N\.V|S\.A)\b\.?)"
)


@dataclass(frozen=True)
class Named:
    """A company as a text names it, with its ticker where one stands beside it and how it was found."""

    name: str
    ticker: str | None
    basis: str


_ZH_DATE = re.compile(
    r"([一二][〇○零一二三四五六七八九]{3})年([一二三四五六七八九十]{1,2})月([一二三四五六七八九十]{1,3})日"
)
_ZH_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {"○": 0, "零": 0}


def _zh_date(text: str) -> date | None:
    """Return the first date written in Chinese numerals (二〇一六年六月二十九日)."""
    match = _ZH_DATE.search(text)
    if match is None:
        return None
    try:
        return date(int("".join(str(_ZH_DIGITS[c]) for c in match[1])), _zh_number(match[2]), _zh_number(match[3]))
    except ValueError:
        return None


def _zh_number(text: str) -> int:
    tens, ten, units = text.rpartition("十")
    return (_ZH_DIGITS[tens] if tens else 1) * 10 * bool(ten) + (_ZH_DIGITS[units] if units else 0)


def is_call(text: str) -> bool:
    """Tell whether a text opens like a call: two different marks of one in its first characters."""
    opening = repair_encoding(text[:OPENING_CHARACTERS])
    return sum(bool(re.search(mark.pattern, opening, mark.flags | re.MULTILINE)) for mark in _CALL_MARKS) >= 2


def is_release(text: str) -> bool:
    """Tell whether a text opens like a press release."""
    return bool(_RELEASE_MARKS.search(" ".join(text[:1500].split())))


def exhibit_number(text: str) -> str | None:
    """Return the number of the exhibit that a text says it is (`99.1`), or None."""
    match = _EXHIBIT.search(text[:400])
    return match[1] if match else None


def is_fund_notice(text: str) -> bool:
    """Tell whether a text opens like an announcement of a fund."""
    return bool(_FUND.search(text[:600]))


def is_memo(text: str) -> bool:
    """Tell whether a text opens like a memo: it says so, or it has To, From and Subject lines."""
    keys = {m["key"].lower() for m in _MEMO_LINE.finditer(text[:3000])}
    return bool(_MEMO.search(text[:400]) and keys) or bool(keys & {"to", "from"} and keys & {"re", "subject", "date"})


def annual_report_year(text: str) -> int | None:
    """Return the year of an annual report to shareholders that says so in its first lines, or None."""
    match = _ANNUAL.search(text[:600])
    return int(next(group for group in match.groups() if group)) if match else None


def memo_lines(text: str) -> dict[str, str]:
    """Return the head lines of a memo (to, from, date, subject, …), the first of each kind."""
    lines: dict[str, str] = {}
    for match in _MEMO_LINE.finditer(text[:3000]):
        lines.setdefault(match["key"].lower(), match["value"].strip(" *|_"))
    return lines


def first_date(text: str) -> date | None:
    """Return the first full date in a text that ends no period, also as 20260311 in a title."""
    dates = [
        d for d in find_dates(text) if not re.search(r"(?:end(?:ed|ing)|as of|since)\s+$", text[: d[0]][-12:].lower())
    ]
    compact = _COMPACT_DATE.search(text)
    if compact and (not dates or compact.start() < dates[0][0]):
        return date(int(compact[1]), int(compact[2]), int(compact[3]))
    return dates[0][2] if dates else _zh_date(text)


def dated_line(text: str) -> date | None:
    """Return the date that stands on a line of its own: at the head of a notice or, in Chinese ones, at its foot; else
    the first date in the head."""
    for part in (text[:3000], text[-600:]):
        for line in part.splitlines():
            short = line.strip(" *#_.")
            if 8 <= len(short) <= 24 and (day := first_date(short)):
                return day
    return first_date(text[:3000])


def title_line(text: str) -> str | None:
    """Return the first line that can be a title: short, and no sentence; in Chinese the one that ends as titles do."""
    lines = [line.strip(" #*|-_\t") for line in text[:3000].splitlines()]
    short = [line for line in lines if 4 <= len(line) <= 160 and not line.endswith((".", "。"))]
    chinese = (line for line in short[:12] if line.endswith(("公告", "通知", "报告")))
    return next(chinese, short[0] if short else None)


def call_company(text: str) -> Named | None:
    """Return the company of a call: with its ticker in the heading, or as the operator names it in the welcome."""
    opening = repair_encoding(text[:OPENING_CHARACTERS])
    listed = _LISTED.search(opening)
    if listed:
        return Named(_clean(listed["name"]), listed["ticker"], "opening: name and ticker")
    flat = re.sub(r"[ \t]+", " ", opening)
    for pattern in _CALL_NAME:
        for match in pattern.finditer(flat):
            name = _clean(match["name"])
            if name and name_key(name) not in _NO_COMPANY and not _NO_NAME.search(name):
                return Named(name, match.groupdict().get("ticker"), "opening: as the call is announced")
    return None


_NO_NAME = re.compile(r"^(?:f?q[1-4]|[1-4]q|fy ?\d\d|(?:19|20)\d\d)\b|\b20[0-4]\d\b", re.IGNORECASE)
_NO_COMPANY = frozenset(
    name_key(w)
    for w in [
        "earning",
        "today",
        "our",
        "this",
        "the",
        "conference",
        "earnings",
        "quarter",
        "first",
        "second",
        "third",
        "fourth",
        "call",
        "event",
        "prerecorded",
        "our",
        "company",
        "todays",
        "investor",
        "management",
        "question",
    ]
)


def named_quarter(text: str) -> int | None:
    """Return the number of the first quarter that a text names in words ("third quarter"), or None."""
    match = _ORDINAL_QUARTER.search(text)
    return _QUARTERS[match[1].lower()] if match else None


def call_quarter(text: str) -> tuple[int | None, int | None, str | None]:
    """Return (quarter, year, doubt) where the opening names a quarter without its year, or where the list of quarterly
    reports in the call contradicts it; the year of that list where there is one."""
    opening = " ".join(repair_encoding(text[: OPENING_CHARACTERS * 2]).split())
    quarter = named_quarter(opening[:OPENING_CHARACTERS])
    listed = _TEN_QS.search(opening)
    if listed:
        last = max(_QUARTERS[w] for w in re.findall(r"first|second|third", listed["list"].lower()))
        if quarter is not None and quarter != last:
            reach = f"quarter {last} of {listed['year']}"
            doubt = f"the opening says quarter {quarter}, the reports that the call lists reach {reach}"
            return last, int(listed["year"]), doubt
        return last, int(listed["year"]), None
    return quarter, None, None


def release_company(text: str) -> Named | None:
    """Return the company of a press release: with its ticker, else by the legal name at its top."""
    flat = " ".join(text[:OPENING_CHARACTERS].split())
    listed = _LISTED.search(flat)
    if listed:
        name = re.split(r"[–—;]| -+ |-- ", listed["name"])[-1]
        dates = find_dates(name)
        return Named(_clean(name[dates[-1][1] :] if dates else name), listed["ticker"], "opening: name and ticker")
    return legal_name(text[:OPENING_CHARACTERS])


def legal_name(text: str) -> Named | None:
    """Return the first name with a legal form (Inc., Corporation, 股份有限公司) in a text."""
    chinese = _ZH_COMPANY.search(text[:2000])
    if chinese:
        return Named(chinese[0], None, "opening: legal name")
    for match in _LEGAL_NAME.finditer(" ".join(text.split())):
        return Named(_clean(match["name"]), None, "opening: legal name")
    return None


def fund_name(text: str) -> Named | None:
    """Return the name of the fund, or of its manager, at the top of an announcement."""
    match = _FUND_NAME.search(text[:1500])
    if match is None:
        return None
    name = match["zh"].removeprefix("关于") if match["zh"] else " ".join(match["en"].split())
    return Named(name, None, "opening: name of the fund")


def mentioned_companies(text: str, limit: int = 60_000) -> list[tuple[Company, int]]:
    """Return the known companies that a text names, most often named first, each with its count. A name that is also
    an ordinary word counts only with its legal form."""
    table = load_companies()
    body = text[:limit]
    counts: dict[str, int] = {}
    for company in table.companies:
        names = [n for n in (company.name, *company.aliases) if len(n) > 3 and not table.is_ordinary_word(n)]
        hits = max((len(re.findall(rf"(?<!\w){re.escape(n)}(?!\w)", body)) for n in names if n in body), default=0)
        if hits:
            counts[company.id] = hits
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(company, count) for cid, count in ranked if (company := table.get(cid))]


def companies_in_order(text: str) -> list[str]:
    """Return the ids of the known companies that a short text names, in the order in which it names them."""
    found = {}
    for company, _ in mentioned_companies(text):
        places = (text.find(n) for n in (company.name, *company.aliases))
        found[company.id] = min(p for p in places if p >= 0)
    return sorted(found, key=lambda cid: (found[cid], cid))


def _clean(name: str) -> str:
    """Cut what an announcement puts before or after a company name."""
    name = re.sub(
        r"^(?:(?:good (?:morning|day|afternoon)|welcome to|and|to|the) )+", "", name.strip(), flags=re.IGNORECASE
    )
    name = re.sub(r"^(?:\d{1,2}|page \d+ of \d+)\s+(?=[A-Z])", "", name, flags=re.IGNORECASE)
    name = re.split(r"(?<![A-Z])(?<!Inc)(?<!Corp)(?<!Co)(?<!Ltd)(?<!St)(?<!Bros)[.!?] ", name)[-1]
    name = tidy_name(re.sub(r"['’]s$", "", name.strip(" ,;:-–—")))
    return re.sub(r"\.\.+$", ".", name)
