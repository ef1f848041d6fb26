"""People and worlds from data: `fit_world`, `fit_learner` and `Tracker`."""
