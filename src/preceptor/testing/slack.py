"""How far two numbers may differ, and how much is said about what went wrong."""

# Two ways to add up the same losses differ by rounding, relative to 1 + the value.
ROUNDING = 1e-8
# Longer lists of broken promises help nobody.
MOST_FAULTS = 12
