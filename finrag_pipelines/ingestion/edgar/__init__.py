"""EDGAR as a feed: asking it politely, reading what it lists, and receiving the filings of watched companies.

What a document says is read by parsing; what becomes of it is the catalog's matter.
"""
