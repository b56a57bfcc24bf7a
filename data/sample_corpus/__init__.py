"""What the synthetic sample corpus is made from: facts, narratives and templates, and one renderer per file format."""
