"""Financial documents in, answers that can be proved or honest refusals out."""
