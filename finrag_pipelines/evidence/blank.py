"""What a record repeats of erased documents, and the record without it: the commitments stay, salts and texts go."""

import dataclasses
import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from finrag_pipelines.evidence.records import Sealed

Repeats = Callable[[Sealed, str], bool]
"""Tells whether the question of a record repeats the erased document."""


def blanked(sealed: Sealed, contents: Collection[str], repeats: Repeats | None = None) -> Sealed:
    """Return a record without the texts that came from the documents with these content hashes.

    These are quotes of them with section and speaker, sentences that cite them, sentences without a citation where one
    of them was delivered, computed numbers of such sentences, the answer that is made of them, the reason of a refusal
    where one was delivered, and a question that `repeats`.
    """
    lost = set(_paths(json.loads(sealed.committed_json), contents))
    if repeats is not None:
        salt, question = sealed.texts.get("question", ("", ""))
        lost |= {"question"} if salt and repeats(sealed, question) else set()
    texts = {path: ("", "") if path in lost else one for path, one in sealed.texts.items()}
    return sealed if texts == sealed.texts else dataclasses.replace(sealed, texts=texts)


def rests_on(sealed: Sealed, contents: Collection[str]) -> bool:
    """Tell whether a document with one of these content hashes was delivered for a record, or cited by it."""
    tree = json.loads(sealed.committed_json)
    rows = (*tree.get("deliveries", ()), *tree.get("citations", ()))
    return any(one.get("content_sha256") in contents for one in rows)


def _paths(tree: dict[str, Any], contents: Collection[str]) -> Iterator[str]:
    citations = tree.get("citations", [])
    gone = [one["content_sha256"] in contents for one in citations]
    was_delivered = any(one["content_sha256"] in contents for one in tree.get("deliveries", []))
    cited = {one["claim"] for one in citations}
    claims = {one["claim"] for one, is_gone in zip(citations, gone, strict=True) if is_gone}
    if was_delivered:
        claims |= {one["claim"] for one in tree.get("claims", []) if one["claim"] not in cited}
        yield "refusal_reason"
    for number, is_gone in enumerate(gone):
        if is_gone:
            yield from (f"citations.{number}.{name}" for name in ("quote", "quote_sha256", "section", "speaker"))
    for table, names in (("claims", ("sentence", "reason")), ("derivations", ("operands", "result"))):
        for number, one in enumerate(tree.get(table, [])):
            if one["claim"] in claims:
                yield from (f"{table}.{number}.{name}" for name in names)
    if claims:
        yield "answer"


def blank_paths(sealed: Sealed) -> list[str]:
    """Return the paths of the texts of a record that were erased."""
    return [path for path, (salt, _) in sealed.texts.items() if not salt]
