"""From bytes to a text representation: text, elements, pages, sections, tables, speakers, identity."""
