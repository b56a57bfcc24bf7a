"""Who issued a document, what it is, and for which period, as far as the document says; what is refused."""
