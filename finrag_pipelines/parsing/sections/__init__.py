"""Where the items of a filing start and end, and why each candidate heading was taken or not."""
