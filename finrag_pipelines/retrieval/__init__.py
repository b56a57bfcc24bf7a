"""From a question to a plan, and from a plan to ranked, authorised candidates with a trace."""
