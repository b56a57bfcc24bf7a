"""Resources: the store and the embedder, configured here and nowhere else. What is done with them is in the assets."""

from typing import TYPE_CHECKING

from dagster import ConfigurableResource

from finrag_pipelines.storage import Store, open_store

if TYPE_CHECKING:
    from finrag_pipelines.embedding.model import Embedder


class StoreResource(ConfigurableResource):
    """The store that everything is read from and written to.

    `uri` is a folder or a file:// URI; empty means FINRAG_STORE, or `.finrag` in the project.
    """

    uri: str = ""

    def open(self) -> Store:
        """Open the store."""
        return open_store(self.uri or None)


class EmbedderResource(ConfigurableResource):
    """The model that turns text into vectors.

    `spec` is `minilm` (the packaged all-MiniLM-L6-v2; `minilm:fp32` and `minilm:bf16` fix the precision), `hashing`
    (no model at all), or a sentence-transformers model by path or name; empty means FINRAG_EMBEDDER, or `minilm`.
    """

    spec: str = ""

    def open(self) -> "Embedder":
        """Open the embedder; a process loads each model once."""
        from finrag_pipelines.embedding.opening import open_embedder

        return open_embedder(self.spec or None)
