"""A class that learns from a table of past cases: what is taught, what trainees and teacher see."""
