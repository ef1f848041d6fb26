"""The live part: store, HTTP service, studies, web pages, explorer, client and bots."""
