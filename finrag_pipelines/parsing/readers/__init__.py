"""From bytes to a layout, one reader for each kind of file, and what readers share: blocks, pages, furniture."""
