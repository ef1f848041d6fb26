"""The live service: recommends what to show a person, round by round, over HTTP."""
