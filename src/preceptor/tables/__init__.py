"""Tables as people keep them: files of many kinds, read into columns of cells."""

from preceptor.tables.reading import Reading

__all__ = ["Reading"]
