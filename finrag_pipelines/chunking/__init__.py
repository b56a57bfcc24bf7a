"""From a text representation to fragments: ranges inside one section or turn, sized for the embedder."""
