"""The explorer: a plan for any position of its sliders, its proof, and who would lose by it."""
