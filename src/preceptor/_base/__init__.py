"""What every room may use: values, their fields and schemas, checks, files, compiling, threads,
discounting, words, progress.

Nothing here knows what a test, a person or a plan is.
"""

# The first of our modules that anything imports, so nothing large has been loaded yet.
from preceptor._base import starting

starting.begin()
