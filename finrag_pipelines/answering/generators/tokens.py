"""Token counts without a tokenizer: an estimate from above, to fit a context, and a bound from below, to see a cut."""

import re
from collections.abc import Sequence

from finrag_pipelines.answering.generators.model import Prompt

_PIECE = re.compile(r"[A-Za-z]+|\d|[^\sA-Za-z\d]|\n")
_TEMPLATE = 64
"""Tokens that a chat template adds around two messages, generously."""


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a model reads `text` as, rather too many: digits count one by one."""
    return sum(1 + (len(match.group()) - 1) // 6 for match in _PIECE.finditer(text))


def prompt_estimate(prompt: Prompt) -> int:
    """Return the estimate for a whole prompt, chat template included."""
    return estimated_tokens(prompt.system) + estimated_tokens(prompt.user) + _TEMPLATE


def fewest_tokens(prompt: Prompt) -> int:
    """Return how many tokens a prompt has at least: tokenizers of language models do not join words across blanks."""
    return len(prompt.system.split()) + len(prompt.user.split())


def first_that_fit(sizes: Sequence[int], room: int) -> list[int]:
    """Return the positions of the sizes that fit into `room`, taken in order; one that is too large is passed over."""
    taken: list[int] = []
    for at, size in enumerate(sizes):
        if size <= room:
            taken.append(at)
            room -= size
    return taken
