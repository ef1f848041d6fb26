"""The store: what the live service keeps, and the transactions that change it."""
