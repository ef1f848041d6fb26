"""The nouns of the paper: the world, what may be shown in it, and how mistakes are charged."""
