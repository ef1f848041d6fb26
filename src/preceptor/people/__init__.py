"""People: what they believe at first, how they learn, how they fill in what they are not shown.

One file for each kind of person (`person.py` says what a kind must do), and one for each way to
work out what is expected of them: second moments for whoever learns from outcomes (`moments.py`),
errors coordinate by coordinate (`coordinates.py`) or exposures (`exposures.py`) for whoever learns
by showings.
"""
