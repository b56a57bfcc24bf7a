"""From folders and feeds to registered bytes of sources."""
