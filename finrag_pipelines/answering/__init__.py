"""From candidates to an answer that can be proved, or a typed refusal: gates, generation, claim checks."""
