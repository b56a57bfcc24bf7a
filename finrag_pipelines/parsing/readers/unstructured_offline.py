"""The one place that makes unstructured work offline: a blank spaCy pipeline instead of the model it would fetch."""

import os
from functools import lru_cache


class UnstructuredMovedError(Exception):
    """unstructured no longer loads its language pipeline where this module replaces it."""


@lru_cache(maxsize=1)
def prepare_unstructured() -> None:
    """Give unstructured's tokenizer a blank English pipeline that only splits sentences and words.

    unstructured 0.27 downloads `en_core_web_sm` when it first classifies a text. Its part-of-speech tags only tell
    narrative text from other text, which our own rules do. Raises UnstructuredMovedError when the hook is gone.
    """
    os.environ.setdefault("UNSTRUCTURED_DISABLE_NOTICE", "1")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    import spacy
    from unstructured.nlp import tokenize

    if not hasattr(getattr(tokenize, "_get_nlp", None), "cache_clear"):
        raise UnstructuredMovedError(
            "unstructured.nlp.tokenize._get_nlp is gone: look where unstructured now loads its spaCy model, "
            "and replace it there"
        )

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    tokenize._get_nlp.cache_clear()
    tokenize._get_nlp = lambda: pipeline
