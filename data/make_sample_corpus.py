"""Write the synthetic sample corpus: `python data/make_sample_corpus.py [--out DIR]`. Same input, same bytes."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sample_corpus.insurers import write_insurers
from sample_corpus.notices import write_announcements, write_memo
from sample_corpus.staples import write_staples


def write_corpus(folder: Path) -> None:
    """Write every document of the corpus and its sidecars into `folder`, which is created."""
    folder.mkdir(parents=True, exist_ok=True)
    write_staples(folder)
    write_insurers(folder)
    write_announcements(folder)
    write_memo(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "sample")
    write_corpus(parser.parse_args().out)
