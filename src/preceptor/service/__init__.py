"""The live service: what should this person see now, and what happened, over HTTP."""
