"""Eval sets, measures and reports."""
