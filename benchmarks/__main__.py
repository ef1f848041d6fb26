"""Run benchmarks, print a table, write the same as JSON, and say what became slower."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path

from benchmarks import (
    beam,
    cases,
    compiling,
    finite,
    growth,
    kept,
    knowing,
    lattice,
    losses,
    pages,
    people,
    proofs,
    quality,
    service,
    tables,
    teach,
    yes_no,
)
from benchmarks.measure import Row

ROWS = {
    **finite.ROWS,
    **lattice.ROWS,
    **losses.ROWS,
    **beam.ROWS,
    **quality.ROWS,
    **proofs.ROWS,
    **growth.ROWS,
    **people.ROWS,
    **knowing.ROWS,
    **cases.ROWS,
    **tables.ROWS,
    **yes_no.ROWS,
    **service.ROWS,
    **pages.ROWS,
    **teach.ROWS,
    **compiling.ROWS,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run (default all): {', '.join(ROWS)}")
    parser.add_argument("--output", default="bench.json", help="where the JSON goes")
    parser.add_argument(
        "--forget", action="store_true", help="leave the results in the repository as they are"
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(ROWS))
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(ROWS)}")
    done = []
    for name in arguments.names or ROWS:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        rows = ROWS[name]()
        for row in rows if isinstance(rows, list) else [rows]:
            done.append((name, row))
            print(line(row), flush=True)
    machine = {"machine": platform.machine(), "python": platform.python_version()}
    data = {"machine": machine, "rows": [{"name": n, **vars(r)} for n, r in done]}
    Path(arguments.output).write_text(json.dumps(data, indent=2, default=float) + "\n")
    print(f"wrote {arguments.output}", file=sys.stderr)
    slower, faster = kept.changes([row for _, row in done], kept.read())
    for word, rows in (("SLOWER", slower), ("faster", faster)):
        for said in rows:
            print(f"{word} than last time: {said}")
    if not arguments.forget:
        kept.write([row for _, row in done])
    return 0 if all(row.reached for _, row in done) else 1


def line(row: Row) -> str:
    mark = "ok " if row.reached else "LOW"
    facts = ", ".join(
        f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.details.items()
    )
    wanted = f" (wanted {row.wanted:g})" if row.wanted else ""
    return f"{mark} {row.ratio:10.3g} x{wanted}  {row.work} | against {row.against} | {facts}"


if __name__ == "__main__":
    sys.exit(main())
