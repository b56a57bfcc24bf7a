"""A scripted generator: it writes what a file says, so that a known fabrication can be shown without a model.

Its name says that it is scripted wherever an answer of it is recorded or reported.
"""

import json
from pathlib import Path

from finrag_pipelines.answering.generators import Generated, GenerationRequest
from finrag_pipelines.answering.model import Delivered, Draft, Support

NAME = "scripted"
FIRST_SENTENCE = "first-sentence"
_LONGEST = 400


class ScriptedGenerator:
    """Replies by the question's text; what no script knows is answered by quoting the first source."""

    def __init__(self, script: Path | None) -> None:
        content = json.loads(script.read_text("utf-8")) if script else {"replies": []}
        self.name = f"{NAME}/{script.stem}" if script else FIRST_SENTENCE
        self._replies = {row["question"]: row["sentences"] for row in content["replies"]}

    def generate(self, request: GenerationRequest) -> Generated:
        """Return the scripted sentences, or the first sentence of the first source."""
        given = {one.position: one for one in request.delivered}
        scripted = self._replies.get(request.question)
        if scripted is None:
            quotes = [_opening(one) for one in request.delivered[:1]]
            drafts = [Draft(one.quote, (one,)) for one in quotes]
        else:
            drafts = [
                Draft(row["text"], tuple(_opening(given[at]) for at in row["sources"] if at in given))
                for row in scripted
            ]
        return Generated(tuple(drafts), self.name, request.delivered)


def _opening(one: Delivered) -> Support:
    """Return the first sentence of a fragment."""
    text = one.fragment.text
    end = text.find(". ") + 1
    end = end if 0 < end < _LONGEST else min(len(text), _LONGEST)
    return Support(one, one.fragment.start, one.fragment.start + end, text[:end], 0.0, 0.0)
