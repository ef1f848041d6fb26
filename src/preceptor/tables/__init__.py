"""Tables as people keep them: files of many kinds, read into columns of cells."""

from preceptor.tables.reading import Reading
from preceptor.tables.sheet import Cells, Sheet, read_cells, read_sheet

__all__ = ["Cells", "Reading", "Sheet", "read_cells", "read_sheet"]
