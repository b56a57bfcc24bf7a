"""From fragments to a published, immutable index version: lexical shards and vectors over one manifest."""
