"""The end of documents: erasure everywhere, the search that proves it, and retention rules that ask for it by date."""
