"""JSON schemas of the files that this package reads and writes."""
