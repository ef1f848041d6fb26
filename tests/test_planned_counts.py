"""Where on a schedule somebody is, against a twin that walks along it round by round."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from preceptor.model.policies import PlannedCounts

TESTS = 3
SETS = st.sets(st.integers(0, TESTS - 1)).map(lambda found: tuple(sorted(found)))
COUNTS = st.lists(st.integers(0, 7), min_size=TESTS, max_size=TESTS)
# By then each column that comes back at all was shown more often than anybody here has seen it.
FAR = 5 + 4 * 9


def walked(prefix, word, rounds):
    """Counts after each of so many rounds, the first row before any."""
    counts = [[0] * TESTS]
    for t in range(rounds):
        shown = prefix[t] if t < len(prefix) else word[(t - len(prefix)) % len(word)]
        counts.append([n + (i in shown) for i, n in enumerate(counts[-1])])
    return counts


def placed(prefix, word, counts, rounds):
    """The longest way along the schedule that shows nothing more often than it was seen."""
    way = walked(prefix, word, FAR)
    if rounds is not None and way[rounds] == counts:
        return rounds, True
    within = [
        t for t, each in enumerate(way) if all(a <= b for a, b in zip(each, counts, strict=True))
    ]
    # With nothing in the word the way has no end: whoever has got there is at its beginning.
    longest = within[-1] if any(word) else min(within[-1], len(prefix))
    return longest, way[longest] == counts


@given(st.lists(SETS, max_size=5), st.lists(SETS, min_size=1, max_size=4), st.integers(0, FAR))
def test_counts_and_sets_are_those_of_a_walk(prefix, word, rounds):
    planned = PlannedCounts(prefix, word, TESTS)
    way = walked(prefix, word, rounds + 1)
    assert planned.after(rounds).tolist() == way[rounds]
    shown = planned.shown(rounds)
    assert [b - a for a, b in zip(way[-2], way[-1], strict=True)] == [
        int(i in shown) for i in range(TESTS)
    ]


@given(
    st.lists(SETS, max_size=5),
    st.lists(SETS, min_size=1, max_size=4),
    COUNTS,
    st.none() | st.integers(0, FAR),
)
@example([], [(0,), ()], [1, 0, 0], None)  # a round that leaves no trace
@example([(1,)], [()], [0, 1, 0], 9)
@example([(1,)], [()], [0, 2, 0], None)
def test_anybody_is_where_a_walk_ends(prefix, word, counts, rounds):
    planned = PlannedCounts(prefix, word, TESTS)
    assert planned.place(counts, rounds) == placed(prefix, word, counts, rounds)


@given(
    st.lists(SETS, max_size=5),
    st.lists(SETS, min_size=1, max_size=4),
    st.integers(0, FAR),
    st.booleans(),
)
def test_whoever_follows_it_is_on_it(prefix, word, rounds, is_known):
    """And what comes next does not depend on whether the rounds are known, but for empty ones."""
    planned = PlannedCounts(prefix, word, TESTS)
    counts = planned.after(rounds).tolist()
    done, on_plan = planned.place(counts, rounds if is_known else None)
    assert on_plan
    assert planned.after(done).tolist() == counts
    assert done == rounds if is_known else (done >= rounds or not any(word))
