"""Who drafts the sentences of an answer: the extractive answerer, or a language model behind the same interface.

What is drafted here is only a draft. Citations and claims are checked afterwards, the same for every generator.
"""

from finrag_pipelines.answering.generators.choose import open_generator
from finrag_pipelines.answering.generators.model import Generated, GenerationRequest, Generator, GeneratorError

__all__ = ["Generated", "GenerationRequest", "Generator", "GeneratorError", "open_generator"]
