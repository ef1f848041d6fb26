"""The nouns of the model: world, learner, curves, budgets, risks and the problem they make."""
