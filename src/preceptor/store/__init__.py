"""The store: what the live part keeps, and how it is changed so that nothing is lost."""

from preceptor.store.store import Store

__all__ = ["Store"]
