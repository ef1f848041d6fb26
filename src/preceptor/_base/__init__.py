"""What every package may use: values, their fields and schemas, checks, files, compiling, threads,
discounting, words, progress.

Nothing here knows what a test, a person or a plan is.
"""
