"""The model: worlds, budgets, risks, the contract of a person, problems, policies and plans.

Nothing is imported here; users take these names from `preceptor` itself.
"""
