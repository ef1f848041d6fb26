"""A plan round by round: losses that add up, counts, beliefs that people come to hold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr

WORLD = pr.World.equicorrelated([1.0, 0.8, 0.4], 0.6, names=["bmi", "bp", "age"])
FIRST = [0.2, 1.3, 0.0]
ROUNDS = [(0,), (1, 2), (), (0, 1), (0,), (2,), (1,), (0, 2)]

# People whose weights follow from what is shown alone: each is also played, case by case.
CERTAIN = [
    pr.Learner(FIRST, pr.Geometric(1.1)),
    pr.Learner(FIRST, pr.PowerLaw(0.75)),
    pr.Learner(FIRST, pr.Geometric(1.3, floor=0.2)),
    pr.Forgetful(FIRST, pr.Geometric(1.2), forgetting=0.1),
    pr.Drifting(FIRST, pr.Geometric(1.2), drift=0.05),
    pr.Indirect(FIRST, pr.Geometric(1.2), indirect=0.3),
    pr.NoLearning(FIRST),
]
# People whose weights depend on the cases they meet: their average is compared.
UNCERTAIN = [
    pr.DeltaRule(FIRST, rate=0.05),
    pr.DeltaRule(FIRST, rate=0.05, imputation=1.0),
    pr.Folding(FIRST, pr.Geometric(1.1), folding=0.5),
]


def problem(person, horizon=8, **more):
    return pr.Problem(WORLD, person, 2, horizon=horizon, discount=0.9, **more)


def plan_of(task, sets=ROUNDS):
    """Not a good one: one that shows what we want."""
    policy = pr.ExploreThenRepeat(sets, [sets[-1]], task.start)
    value = pr.evaluate(task, policy)
    return pr.Plan(task, policy, value, value, pr.Status.OPTIMAL, "by hand", 0.0)


def played_weights(person, people, start=None, seed=0):
    """Mean weights (rounds, n) before each round over people who meet cases of their own."""
    rng = np.random.default_rng(seed)
    state = person.fresh(WORLD, (people,), start)
    omega = person.imputing_covariance(WORLD)
    means = []
    for shown in ROUNDS:
        means.append(np.broadcast_to(person.weights_of(WORLD, state), (people, 3)).mean(axis=0))
        x = rng.multivariate_normal(np.zeros(3), WORLD.covariance, people)
        y = x @ WORLD.coefficients + np.sqrt(WORLD.noise_variance) * rng.standard_normal(people)
        s = list(shown)
        filled = x[:, s] @ np.linalg.solve(omega[np.ix_(s, s)], omega[s])
        filled[:, s] = x[:, s]
        seen = np.zeros((people, 3), dtype=bool)
        seen[:, s] = True
        state = person.learn(WORLD, state, filled, seen, y)
    return np.array(means)


def beliefs(frame):
    return frame[[f"belief:{name}" for name in WORLD.labels]].to_numpy()


@pytest.mark.parametrize("person", CERTAIN, ids=repr)
def test_beliefs_are_those_of_somebody_who_plays_it(person):
    frame = plan_of(problem(person)).to_frame()
    assert_allclose(beliefs(frame), played_weights(person, 2), atol=1e-12)


@pytest.mark.parametrize("person", UNCERTAIN, ids=repr)
def test_beliefs_are_the_average_of_people_who_play_it(person):
    frame = plan_of(problem(person)).to_frame()
    assert_allclose(beliefs(frame), played_weights(person, 20_000), atol=1e-2)


def test_beliefs_of_a_bayesian_are_near_the_average():
    person = pr.Bayesian(FIRST, prior_variance=0.5, noise_variance=0.3)
    frame = plan_of(problem(person)).to_frame()
    assert_allclose(beliefs(frame), played_weights(person, 20_000), atol=0.08)


@pytest.mark.parametrize("person", [*CERTAIN, *UNCERTAIN], ids=repr)
def test_losses_add_up_to_the_value(person):
    plan = plan_of(problem(person))
    assert_allclose(0.9 ** np.arange(len(ROUNDS)) @ plan.losses(), plan.value)
    assert_allclose(plan.to_frame()["loss"], plan.losses())
    assert_allclose(pr.losses(plan.problem, ROUNDS), plan.losses())
    assert_allclose(pr.losses(plan.problem, plan.policy, 3), plan.losses()[:3])


def test_what_is_shown_and_counted():
    person = CERTAIN[0]
    frame = plan_of(problem(person, start=(2, 0, 1))).to_frame()
    assert frame["round"].to_list() == list(range(len(ROUNDS)))
    assert frame["shown"].to_list()[:4] == ["bmi", "bp + age", "nothing", "bmi + bp"]
    assert frame["count:bmi"].to_list() == [2, 3, 3, 3, 4, 5, 5, 5]
    assert frame["count:age"].to_list() == [1, 1, 2, 2, 2, 2, 3, 3]


def test_endless_plans_are_told_until_little_is_left():
    task = problem(CERTAIN[0], horizon=None)
    plan = pr.solve(task, "lattice", tolerance=1e-3)
    told = plan.losses()
    assert 0.9 ** len(told) <= 0.01 < 0.9 ** (len(told) - 1)
    assert len(plan.to_frame()) == len(told)
    long = plan.losses(400)
    assert_allclose(0.9 ** np.arange(400) @ long, plan.value, rtol=1e-9)


def test_a_crowd_is_averaged_or_told_one_by_one():
    members = {"quick": (CERTAIN[0], 0.25), "slow": (UNCERTAIN[0], 0.75)}
    plan = plan_of(problem(pr.Crowd(members)))
    mean, blocks = plan.to_frame(), plan.to_frame(by_person=True)
    assert_allclose(0.9 ** np.arange(len(ROUNDS)) @ mean["loss"], plan.value)
    assert blocks["person"].to_list() == ["quick"] * len(ROUNDS) + ["slow"] * len(ROUNDS)
    for column in ("loss", "belief:bmi", "belief:age", "count:bp"):
        halves = [blocks.loc[blocks["person"] == name, column].to_numpy() for name in members]
        assert_allclose(0.25 * halves[0] + 0.75 * halves[1], mean[column])
    alone = plan_of(problem(CERTAIN[0])).to_frame()
    quick = blocks[blocks["person"] == "quick"].drop(columns="person").reset_index(drop=True)
    assert_allclose(beliefs(quick), beliefs(alone))
    assert_allclose(quick["loss"], alone["loss"])


def test_somebody_who_only_acts_has_no_beliefs_to_tell():
    task = problem(pr.OwnPerson(CERTAIN[0].acting(WORLD), FIRST, copies=8))
    frame = plan_of(task).to_frame()
    assert np.isnan(beliefs(frame)).all()
    assert frame["loss"].gt(0).all()


def test_a_test_of_several_columns_is_shown_and_counted_as_one():
    world = pr.World(
        [1.0, 0.8, 0.4], np.eye(3), names=["bmi", "II", "III"], groups={"grade": [1, 2]}
    )
    task = pr.Problem(world, pr.Learner(FIRST, pr.Geometric(1.1)), 1, horizon=3)
    frame = plan_of(task, [(0,), (1, 2), (0,)]).to_frame()
    assert frame["shown"].to_list() == ["bmi", "grade", "bmi"]
    assert [c for c in frame if c.startswith("count:")] == ["count:bmi", "count:grade"]
    assert [c for c in frame if c.startswith("belief:")] == [
        *("belief:bmi", "belief:II", "belief:III")
    ]
    assert frame["count:grade"].to_list() == [0, 0, 1]


@pytest.mark.parametrize("rounds", [0, -1, 2.5, True, len(ROUNDS) + 1])
def test_rounds_that_are_not_there_are_refused(rounds):
    plan = plan_of(problem(CERTAIN[0]))
    for ask in (plan.losses, plan.to_frame, lambda r: pr.losses(plan.problem, ROUNDS, r)):
        with pytest.raises(pr.InvalidInput, match=f"rounds: {rounds}"):
            ask(rounds)


def test_sets_that_are_not_allowed_are_all_named():
    with pytest.raises(pr.InvalidPolicy, match=r"(?s)\(0, 1, 2\).*\(7,\)"):
        pr.losses(problem(CERTAIN[0]), [(0, 1, 2), (7,)])
