"""Studies with people: what a study file says, and all that follows from it."""
