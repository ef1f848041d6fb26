"""Snapshots: another text fails, an update keeps it, and other sections stay as they are."""

import pytest

from tests.snapshots import compare, sections


def test_a_text_has_to_be_the_one_that_is_kept(tmp_path):
    path = tmp_path / "snapshots" / "plan.txt"
    for name, text in (("one", "a\n\nb  \n"), ("another", "c")):
        with pytest.raises(AssertionError, match="make snapshots"):
            compare(path, name, text, update=False)
        compare(path, name, text, update=True)
    assert sections(path) == {"another": "c\n\n", "one": "a\n\nb\n\n"}
    compare(path, "one", "a\n\nb", update=False)
    with pytest.raises(AssertionError, match=r"plan\.txt says otherwise"):
        compare(path, "one", "a\n\nB", update=False)
    compare(path, "one", "d", update=True)
    assert sections(path) == {"another": "c\n\n", "one": "d\n\n"}
