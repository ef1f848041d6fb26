"""Which kind of person a log shows: exact evidence, its reading, and who to plan for."""
