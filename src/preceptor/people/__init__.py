"""People: what they believe at first, how they learn, how they fill in what they are not shown."""
