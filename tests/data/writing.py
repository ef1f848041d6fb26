"""The same little table, written in all the ways in which people keep one."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd

HEADER = ["größe", "alter", "grade", "y"]


def rows(count=30):
    rng = np.random.default_rng(5)
    found = []
    for i in range(count):
        height, age = round(float(rng.normal(170, 9)), 2), round(float(rng.normal(1650, 400)), 1)
        grade = ["I", "II", "III"][i % 3]
        y = round(0.1 * height + 0.002 * age + float(rng.normal()), 3)
        found.append([height, None if i == 7 else age, grade, y])
    return found


def text(separator=",", decimal=".", thousands="", table=None, header=HEADER):
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, lineterminator="\r\n")
    writer.writerow(header)
    for row in table or rows():
        writer.writerow([_cell(cell, decimal, thousands) for cell in row])
    return out.getvalue()


def _cell(cell, decimal, thousands):
    if not isinstance(cell, float):
        return cell
    written = repr(cell)
    if thousands and cell >= 1000:
        written = f"{cell:,.{len(written.split('.')[1])}f}".replace(",", "_")
    return written.replace(".", decimal).replace("_", thousands)


def xlsx(path, table=None, *, sheets=("Cases",), above=(), header=HEADER, change=lambda cell: cell):
    book = openpyxl.Workbook()
    for number, name in enumerate(sheets):
        sheet = book.active if number == 0 else book.create_sheet()
        sheet.title = name
        if number:
            continue
        for row in above:
            sheet.append(row)
        sheet.append(header)
        for row in table or rows():
            sheet.append([change(cell) for cell in row])
    book.save(path)
    return path


def ods(path, table=None):
    def cell(value):
        if value is None:
            return "<table:table-cell/>"
        kind = "string" if isinstance(value, str) else "float"
        number = "" if kind == "string" else f' office:value="{value!r}"'
        return (
            f'<table:table-cell office:value-type="{kind}"{number}>'
            f"<text:p>{value}</text:p></table:table-cell>"
        )

    lines = "".join(
        f"<table:table-row>{''.join(map(cell, row))}</table:table-row>"
        for row in [HEADER, *(table or rows())]
    )
    return raw_ods(path, lines)


def raw_ods(path, lines):
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"'
        for short in ("office", "table", "text")
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", kind)
        packed.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="Cases">{lines}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
        packed.writestr(
            "META-INF/manifest.xml",
            f'<manifest:manifest xmlns:manifest="{manifest}"><manifest:file-entry '
            f'manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>',
        )
    return path


def json_lines(path, table=None):
    lines = [json.dumps(dict(zip(HEADER, row, strict=True))) for row in table or rows()]
    Path(path).write_text("\n".join(lines), encoding="utf-8")
    return path


def parquet(path, table=None):
    pd.DataFrame(table or rows(), columns=HEADER).to_parquet(path)
    return path
