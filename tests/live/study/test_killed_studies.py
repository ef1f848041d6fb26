"""kill -9 of the server, and immediate stops of Postgres, while people take part."""

from __future__ import annotations

import pytest

from tests.live.study.killing import killable, survived


@pytest.mark.full
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_every_acknowledged_answer_is_there_once(tmp_path, kind):
    with killable(kind, tmp_path) as (database, kill):
        found = survived(tmp_path, database, kill, kills=3, people=6, answers=2)
    assert (found.lost, found.doubled, found.changed) == (0, 0, 0)
    assert found.acknowledged >= 4 * 2 * 6
    assert found.unanswered, "no call was ever in the way of a kill"
