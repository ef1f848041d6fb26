"""People: their initial weights, how they learn, and how they impute hidden tests.

One file per kind of person (`person.py` defines what a kind must do), and one per method to compute
expected losses: second moments for people who learn from outcomes (`moments.py`), error by error
(`second_moments.py`) or by exposure (`exposures.py`) for people who learn by showings.
"""
