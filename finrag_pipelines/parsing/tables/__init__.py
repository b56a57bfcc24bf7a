"""Tables: the grid of cells from HTML or from lines, their headers, labels, numbers and units."""
