"""Simulated people: humans of several kinds, and cases played with them."""
