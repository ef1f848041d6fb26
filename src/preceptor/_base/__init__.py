"""Foundations for all packages: values and schemas, checks, files, compilation, threads, wording.

Nothing here knows what a test, a person or a plan is.
"""
