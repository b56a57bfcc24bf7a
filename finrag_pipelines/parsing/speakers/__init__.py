"""Who speaks in a call: turns with name, role and firm, and who asked apart from who answered."""
