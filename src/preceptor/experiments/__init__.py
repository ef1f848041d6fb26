"""The experiments of the paper, each a sweep, a figure and statements to compare."""
