"""`preceptor plan --rows`: only then may the report name single rows of the table."""

import pytest

from tests.cli.test_plan import QUICK


@pytest.mark.parametrize(("given", "rows"), [((), False), (("--rows",), True)])
def test_rows_are_named_only_with_a_flag(run, cases, tmp_path, monkeypatch, given, rows):
    asked = []

    def page(advice, *, rows=False):
        asked.append(rows)
        return "<p>"

    monkeypatch.setattr("preceptor.report.html.render_report", page)
    result = run("plan", cases, *QUICK, "--tests", 1, *given)
    assert result.exit_code == 0, result.stderr
    assert asked == [rows]
