"""A short block of rounds that tells who somebody is: chosen, tried on simulated people, read."""
