"""What every room may use: values, checks, files, compiling, threads, discounting, words, progress.

Nothing here knows what a test, a person or a plan is.
"""
