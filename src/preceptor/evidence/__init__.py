"""Which kind of person somebody is: what a log says about it, what it cannot say, what would."""
