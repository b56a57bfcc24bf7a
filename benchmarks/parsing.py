"""Parsing: pages/s or MB/s, peak memory and seconds per file, beside raw pypdfium2, pdfplumber, unstructured, lxml.

Prints a table and writes .bench/parsing.json. Each measurement runs in a process of its own on real filings, after one
page (or nothing, for HTML and text) to warm up, and is skipped with a note where filings or peer are absent. Speeds are
of processor time. Run with `make bench-parsing`. Peers that live in another folder are found with `--peers FOLDER`;
`--pages N` sets how many pages the slow peers get (their pages/s is of those pages).
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "corpus"
PDFS = ("NIKE_2021_10K.pdf", "AMD_2015_10K.pdf", "WALMART_2018_10K.pdf", "PEPSICO_2023Q1_EARNINGS.pdf")
HTMLS = (
    "sec/KO_10-K_FY2023_0000021344-24-000009.htm",
    "sec/GE_10-K_FY2023_0000040545-24-000027.htm",
    "sec/UNH_10-K_FY2024.htm",
)
TEXTS = ("sec/old/GE_10-K_FY1993_0000040545-94-000003.txt", "sec/KO_10-K_FY1997_0000021344-98-000004.txt")

RAW = """
import pypdfium2
document = pypdfium2.PdfDocument(content)
for page in document:
    page.get_textpage().get_text_range()
"""
LAYOUT = """
from finrag_pipelines.parsing.readers.pdf import read_pdf
read_pdf(content)
"""
FRAGMENTS = """
chunk(parse(content, path), "bench", 1, "0" * 64, "0" * 64)
"""
FRAGMENTS_IMPORTS = """
from finrag_pipelines.chunking.chunk import chunk
from finrag_pipelines.parsing.parse import parse, read_layout
import pypdfium2, lxml.html
from finrag_pipelines.chunking.tokens import minilm_counter
minilm_counter()
"""
PDFPLUMBER = """
with pdfplumber.open(io.BytesIO(content)) as document:
    for page in document.pages:
        page.extract_text()
        page.extract_tables()
"""
UNSTRUCTURED = """
elements = partition_pdf(file=io.BytesIO(content), strategy="fast", languages=["eng"])
assert elements, "unstructured returned no elements: is pikepdf installed?"
"""
UNSTRUCTURED_IMPORTS = """
from unstructured.partition.pdf import partition_pdf
try:
    from finrag_pipelines.parsing.readers.unstructured_offline import prepare_unstructured
    prepare_unstructured()
except ImportError:
    pass
"""
# What is measured: imports first, so that the time is that of the work alone.
CONTESTANTS = {
    "raw pypdfium2": ("import pypdfium2", RAW, False),
    "finrag: layout": ("from finrag_pipelines.parsing.readers.pdf import read_pdf", LAYOUT, False),
    "finrag: to fragments": (FRAGMENTS_IMPORTS, FRAGMENTS, False),
    "pdfplumber": ("import pdfplumber", PDFPLUMBER, True),
    "unstructured fast": (UNSTRUCTURED_IMPORTS, UNSTRUCTURED, True),
}
READ_LAYOUT = (
    "from finrag_pipelines.parsing.parse import read_layout\nimport lxml.html",
    "read_layout(content)",
    False,
)
TEXT_CONTESTANTS = {
    "finrag: layout": READ_LAYOUT,
    "finrag: to fragments": (FRAGMENTS_IMPORTS, FRAGMENTS, False),
}
HTML_CONTESTANTS = {
    "lxml: tree only": ("import lxml.html", "lxml.html.fromstring(content)", False),
    **TEXT_CONTESTANTS,
    "unstructured HTML": (
        UNSTRUCTURED_IMPORTS.replace("partition.pdf import partition_pdf", "partition.html import partition_html"),
        "partition_html(file=io.BytesIO(content))",
        True,
    ),
}
HARNESS = """
import io, json, resource, sys, time
path, pages = sys.argv[1], int(sys.argv[2])
content = open(path, "rb").read()
{imports}
def work(content):
    {work}
count = None
if path.endswith(".pdf"):
    import pypdfium2
    whole = pypdfium2.PdfDocument(content)
    def part(first, last):
        some = pypdfium2.PdfDocument.new()
        some.import_pages(whole, list(range(first, min(last, len(whole)))))
        buffer = io.BytesIO()
        some.save(buffer)
        return buffer.getvalue(), len(some)
    work(part(0, 1)[0])
    if pages:
        content, count = part(len(whole) // 3, len(whole) // 3 + pages)
started, used = time.perf_counter(), time.process_time()
work(content)
seconds, cpu = time.perf_counter() - started, time.process_time() - used
print(json.dumps(dict(seconds=seconds, cpu=cpu, pages=count,
                      peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)))
"""

# All PDFs in one process, as an ingestion reads them: what only the first file of a process pays is paid once.
FOLDER = """
import json, sys, time
from pathlib import Path
import pypdfium2
{imports}
rows = []
for path in [Path(name) for name in sys.argv[1:]]:
    content = path.read_bytes()
    started = time.process_time()
    document = pypdfium2.PdfDocument(content)
    for page in document:
        page.get_textpage().get_text_range()
    raw, pages = time.process_time() - started, len(document)
    document.close()
    started = time.process_time()
    chunk(parse(content, path.name), "bench", 1, "0" * 64, "0" * 64)
    rows.append([path.name, pages, raw, time.process_time() - started])
print(json.dumps(rows[1:]))  # the first file warms up
"""


def measure(imports: str, work: str, path: Path, pages: int, peers: str | None, rounds: int) -> dict[str, float] | str:
    """Return the best of `rounds` runs in processes of their own, or the reason why there is none."""
    script = HARNESS.format(imports=imports, work=work.strip().replace("\n", "\n    "))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
    if peers:
        environment["PYTHONPATH"] = peers
    results = []
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, "-c", script, str(path), str(pages)], capture_output=True, text=True, env=environment
        )
        if done.returncode:
            return "skipped: " + (done.stderr.strip().splitlines() or ["it failed"])[-1][:110]
        results.append(json.loads(done.stdout.splitlines()[-1]))
    return min(results, key=lambda result: result["cpu"])


def page_count(path: Path) -> int:
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        return len(document)


def measure_markup(
    path: Path, contestants: dict[str, tuple[str, str, bool]], peers: str | None, rounds: int
) -> list[dict[str, object]]:
    """Measure and print each contestant on one HTML or text file."""
    rows: list[dict[str, object]] = []
    megabytes = path.stat().st_size / 1e6
    for name, (imports, work, slow) in contestants.items():
        result = measure(imports, work, path, 0, peers if slow else None, 1 if slow else rounds)
        if isinstance(result, str):
            print(f"{path.name[:30]:30} {name:22} {result}")
            rows.append({"file": path.name, "contestant": name, "note": result})
            continue
        print(
            f"{path.name[:30]:30} {name:22} {megabytes:5.2f} MB {result['cpu']:9.2f} s (CPU) "
            f"{megabytes / result['cpu']:7.2f} MB/s {result['peak_mb']:18.0f} MB"
        )
        rows.append({"file": path.name, "contestant": name, "mb_per_s": megabytes / result["cpu"], **result})
    return rows


def measure_folder(paths: list[Path]) -> list[dict[str, object]]:
    """Measure and print raw pypdfium2 and ours on every PDF of the folder, in one process."""
    script = FOLDER.format(imports=FRAGMENTS_IMPORTS)
    names = [str(path) for path in (paths[0], *paths)]
    done = subprocess.run([sys.executable, "-c", script, *names], capture_output=True, text=True)
    if done.returncode:
        print(f"all PDFs in one process: skipped: {done.stderr.strip().splitlines()[-1][:110]}")
        return []
    rows = json.loads(done.stdout.splitlines()[-1])
    ratios = sorted(ours / raw for _, _, raw, ours in rows)
    pages, raw, ours = (sum(row[place] for row in rows) for place in (1, 2, 3))
    print(
        f"all {len(rows)} PDFs in one process: {pages} pages, raw {raw:.1f} s, to fragments {ours:.1f} s: "
        f"{ours / raw:.1f} x raw in sum, {ratios[len(ratios) // 2]:.1f} in the median, "
        f"{ratios[0]:.1f} to {ratios[-1]:.1f} from file to file"
    )
    return [{"file": name, "pages": n, "raw_s": raw, "to_fragments_s": ours} for name, n, raw, ours in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="folder with packages of peers, e.g. of pip install --target")
    parser.add_argument("--pages", type=int, default=20, help="pages of each PDF that slow peers get")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each measurement; the best counts")
    options = parser.parse_args()
    paths = [path for name in PDFS if (path := CORPUS / "financebench" / "pdfs" / name).is_file()]
    if not paths:
        print(f"No real filings at {CORPUS}: nothing is measured.")
        return
    rows = []
    for path in paths:
        total, raw_speed = page_count(path), None
        for name, (imports, work, slow) in CONTESTANTS.items():
            peers = options.peers if slow else None
            result = measure(imports, work, path, options.pages if slow else 0, peers, 1 if slow else options.rounds)
            if isinstance(result, str):
                print(f"{path.name:30} {name:22} {result}")
                rows.append({"file": path.name, "contestant": name, "note": result})
                continue
            pages = result["pages"] or total
            speed = pages / result["cpu"]
            raw_speed = raw_speed or speed
            print(
                f"{path.name:30} {name:22} {pages:4} pages {result['seconds']:7.2f} s {speed:7.1f} pages/s (CPU) "
                f"{raw_speed / speed:6.1f} x raw {result['peak_mb']:6.0f} MB"
            )
            rows.append(
                {"file": path.name, "contestant": name, "pages_per_s": speed, "times_raw": raw_speed / speed, **result}
            )
    rows += measure_folder(sorted((CORPUS / "financebench" / "pdfs").glob("*.pdf")))
    for names, contestants in ((HTMLS, HTML_CONTESTANTS), (TEXTS, TEXT_CONTESTANTS)):
        for path in (path for name in names if (path := CORPUS / name).is_file()):
            rows += measure_markup(path, contestants, options.peers, options.rounds)
    target = ROOT / ".bench" / "parsing.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(rows, indent=1))
    print(f"written to {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
