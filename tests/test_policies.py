"""Policies: schedules, and what is recommended to people on and off the plan."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import preceptor as pr

sets_of_three = st.lists(
    st.sampled_from([(0,), (1,), (2,), (0, 1), (1, 2)]), min_size=0, max_size=12
)


def follow(policy, tests, rounds, start=None):
    """Ask for one recommendation after the other, as a service would."""
    counts = list(start or [0] * tests)
    path = []
    for _ in range(rounds):
        shown = policy.recommend(counts)
        path.append(shown)
        for i in shown:
            counts[i] += 1
    return path


@given(sets_of_three, st.sampled_from([(0,), (1, 2)]), st.sampled_from([None, (3, 1, 0)]))
def test_asking_round_by_round_gives_the_schedule(prefix, commit, start):
    policy = pr.ExploreThenCommit(prefix, commit, start)
    wanted = policy.schedule(20)
    assert follow(policy, 3, 20, start) == wanted
    assert [policy.recommend([0, 0, 0], round=t) for t in range(20)] == wanted


@given(sets_of_three, st.sampled_from([(0,), (1, 2)]))
def test_exploration_ends_where_the_set_never_changes_again(prefix, commit):
    policy = pr.ExploreThenCommit(prefix, commit)
    schedule = policy.schedule(40)
    length = policy.exploration_length
    assert all(s == policy.commit for s in schedule[length:])
    assert length == 0 or schedule[length - 1] != policy.commit


@given(st.lists(st.sampled_from([(0,), (1,), (0, 2)]), min_size=1, max_size=5))
def test_alternating_goes_round(cycle):
    policy = pr.Alternating(cycle)
    assert (
        follow(policy, 3, 17) == policy.schedule(17) == [cycle[t % len(cycle)] for t in range(17)]
    )
    assert (policy.commit is None) == (len(set(cycle)) > 1)


def test_somebody_off_the_plan_is_still_served():
    policy = pr.ExploreThenCommit([(0,), (1,), (1,)], (0,))
    assert policy.recommend([5, 0]) == (1,)  # saw too much of one test, still lacks the other
    assert policy.recommend([0, 5]) == (0,)
    assert policy.recommend([9, 9]) == (0,)


def test_count_table_follows_its_entries_and_finds_its_end():
    # show 0 until seen twice, then 1 for ever
    table = np.array([[0, 0], [0, 0], [1, 1]])
    policy = pr.CountPolicy(table, ((0,), (1,)))
    assert policy.schedule(5) == [(0,), (0,), (1,), (1,), (1,)]
    assert follow(policy, 2, 5) == policy.schedule(5)
    assert (policy.commit, policy.exploration_length) == ((1,), 2)
    assert policy.recommend([99, 99]) == (1,)
    with pytest.raises(pr.InvalidPolicy, match="counts: 3 counts for 2"):
        policy.recommend([0, 0, 0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pr.Stationary((0, 0)), "once per round"),
        (lambda: pr.Stationary("ab"), "list of test indices"),
        (lambda: pr.Alternating([]), "empty"),
        (lambda: pr.CountPolicy(np.array([[3]]), ((0,),)), "positions"),
        (lambda: pr.CountPolicy(np.array([[0]]), ((0,),), start=(1,)), "1 counts for 2 tests"),
    ],
)
def test_faults(make, words):
    with pytest.raises(pr.InvalidPolicy, match=words):
        make()


@pytest.mark.parametrize(
    "policy",
    [
        pr.Stationary((2, 0)),
        pr.Alternating([(0,), (1, 2)], start=(1, 0, 0)),
        pr.ExploreThenCommit([(0,), ()], (1,), start=(0, 2, 0)),
        pr.CountPolicy(np.array([[0, 1], [1, 1]]), ((0,), (1,)), (1, 0)),
    ],
)
def test_policies_go_to_json_and_back(policy):
    assert pr.Policy.from_json(policy.to_json()) == policy


def test_a_damaged_table_is_reported():
    data = pr.CountPolicy(np.array([[0, 1], [1, 1]]), ((0,), (1,))).to_dict()
    for wrong in ("!!!", "AAAA"):
        broken = data | {
            "table": data["table"] | {"values": {**data["table"]["values"], "zlib": wrong}}
        }
        with pytest.raises(pr.InvalidFile, match="packed array is damaged"):
            pr.Policy.from_dict(broken)


def large_table():
    """Mostly runs, as a lattice makes them: 64 million entries."""
    table = np.zeros((400, 400, 400), dtype=np.uint8)
    table[:, 200:] = 1
    table[300:, :, 7:] = 2
    return pr.CountPolicy(table, ((0,), (1,), (2,)), (1, 0, 0))


def test_a_large_table_stays_folded_until_somebody_asks_for_it():
    made = large_table()
    text = made.to_json()
    assert len(text) < 20_000
    loaded = pr.Policy.from_json(text)
    counts = [(1, 0, 0), (5, 199, 3), (5, 200, 3), (301, 0, 6), (301, 0, 7), (999, 999, 999)]
    assert [loaded.recommend(c) for c in counts] == [made.recommend(c) for c in counts]
    assert loaded.used_sets() == made.used_sets()
    assert loaded.schedule(2000) == made.schedule(2000)
    assert loaded.exploration_length == made.exploration_length
    assert pickle.loads(pickle.dumps(loaded)).recommend((301, 0, 7)) == (2,)
    assert "table" not in vars(loaded)
    assert loaded == made
    assert loaded.table.dtype == np.uint8
    assert not loaded.table.flags.writeable


def test_tables_may_be_nested_lists():
    made = pr.CountPolicy(np.array([[0, 1], [1, 1]]), ((0,), (1,)), (1, 0))
    assert pr.Policy.from_dict(made.to_dict() | {"table": made.table.tolist()}) == made


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"sets": 3}, "sets: 3, must be a list"),
        ({"sets": [[0]]}, "positions in the 1 sets"),
        ({"start": [1]}, "1 counts for 2 tests"),
        ({"colour": 1}, "takes table, sets and start"),
    ],
)
def test_tables_that_do_not_fit_their_sets_are_refused(change, complaint):
    data = pr.CountPolicy(np.array([[0, 1], [1, 1]]), ((0,), (1,))).to_dict()
    with pytest.raises(pr.InvalidInput, match=complaint):
        pr.Policy.from_dict(data | change)


@pytest.mark.parametrize(
    "policy",
    [
        pr.Stationary((0,)),
        pr.Alternating([(0,), (1,)]),
        pr.ExploreThenCommit([(1,)], (0,)),
        pr.ExploreThenRepeat([(1,)], [(0,)]),
        pr.CountPolicy([[0, 1]], sets=[(0,), (1,)]),
    ],
)
def test_rounds_and_counts_that_cannot_be_are_refused(policy):
    for rounds in (-3, 1.5, True):
        with pytest.raises(pr.InvalidPolicy, match="rounds: "):
            policy.schedule(rounds)
    for counts in ([-1, 0], [0.5, 0], [10**12, 0], ["x", 0]):
        with pytest.raises(pr.InvalidPolicy, match="counts: "):
            policy.recommend(counts)
    assert policy.schedule(np.int64(2)) == policy.schedule(2)


def test_a_table_too_long_to_follow_is_refused():
    with pytest.raises(pr.InvalidPolicy, match="at most 1,000,000 long together"):
        pr.CountPolicy(np.zeros((2_000_000, 1), dtype=np.uint8), sets=[(0,)])


def test_starts_that_cannot_be_are_refused():
    with pytest.raises(pr.InvalidPolicy, match="start: "):
        pr.Alternating([(0,)], start=[10**12])
