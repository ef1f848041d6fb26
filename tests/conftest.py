"""Shared by all tests: how hypothesis runs, and generators of random problems."""

from hypothesis import settings

# The first example of a test may compile kernels, so no deadline; derandomised, so that a red
# run can be had again.
settings.register_profile("preceptor", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("preceptor")
