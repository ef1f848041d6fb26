"""Time limits are kept and accounted for; what cannot be finished in time is given up."""

import signal
import time

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.progress import UNCOUNTED, counted_seconds
from preceptor.planning.anytime import OutOfTime, Watch, watching
from preceptor.planning.auto import solve_auto
from preceptor.planning.bounds import instant_bound, projection_bound
from preceptor.planning.finite import solve_finite
from preceptor.planning.lattice import solve_lattice
from preceptor.planning.truncated import solve_truncated

OWN = pr.ResidualRisk(lambda r: np.where(r > 0, 0.9 * r, -0.1 * r))


def seeded(size, k, rho=0.8, **changes):
    rng = np.random.default_rng(5)
    a, h = rng.uniform(0, 1, size), rng.uniform(0, 1, size)
    world = pr.World.equicorrelated(a, rho)
    return pr.Problem(world, pr.Learner(h, pr.Geometric(1.05)), k, discount=0.99).replace(**changes)


def test_compiling_stops_the_clock(monkeypatch):
    now = [time.perf_counter()]
    monkeypatch.setattr("preceptor._base.progress.time.perf_counter", lambda: now[0])
    watch, began, before = Watch(10.0), counted_seconds(), UNCOUNTED.so_far
    UNCOUNTED.begin()
    now[0] += 3.0
    assert UNCOUNTED.so_far - before == pytest.approx(3.0)
    assert counted_seconds() == pytest.approx(began)
    UNCOUNTED.end()
    assert UNCOUNTED.so_far - before == pytest.approx(3.0)
    assert watch.seconds == pytest.approx(0.0, abs=1e-6)
    with watch.proving():
        now[0] += 1.0
    now[0] += 1.0
    assert (watch.proved, watch.seconds) == pytest.approx((1.0, 2.0))


def test_a_loop_is_halted_by_the_clock_and_not_before():
    with Watch(0.05).halting() as halt:
        assert halt[0] == 0
        began = time.perf_counter()
        while not halt[0] and time.perf_counter() - began < 10.0:
            time.sleep(0.001)
        assert halt[0] == 1
    with Watch(None).halting(0.01) as halt:
        time.sleep(0.2)
        assert halt[0] == 1
    with Watch(None).halting() as halt:
        assert halt[0] == 0


def test_a_loop_is_halted_by_ctrl_c():
    """Another thread hears the signal, wherever the main one is."""
    before = signal.getsignal(signal.SIGINT)
    with watching(60.0) as watch, watch.halting() as halt:
        signal.raise_signal(signal.SIGINT)
        began = time.perf_counter()
        while not halt[0] and time.perf_counter() - began < 10.0:
            time.sleep(0.001)
        assert halt[0] == 1
        assert watch.interrupted
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.parametrize(
    "work",
    [
        lambda watch: solve_lattice(seeded(3, 2), watch),
        lambda watch: solve_lattice(seeded(2, 1, risk=OWN), watch),
        lambda watch: solve_finite(seeded(5, 2, horizon=30), watch),
        lambda watch: solve_finite(seeded(3, 1, risk=OWN, horizon=30), watch),
        lambda watch: solve_truncated(seeded(5, 2), watch, length=30),
    ],
)
def test_exact_work_is_given_up(work):
    with pytest.raises(OutOfTime):
        work(Watch(1e-9))


@pytest.mark.few(5)
@pytest.mark.parametrize("method", ["certified", "auto"])
@pytest.mark.parametrize(
    "problem",
    [
        seeded(5, 2, risk=OWN),
        seeded(3, 1, risk=OWN, horizon=100),
        seeded(8, 3, horizon=1000),
        seeded(13, 3),
        seeded(8, 3, risk=pr.Huber(1.0)),
    ],
    ids=["own risk", "own risk, finite", "long", "many sets", "huber"],
)
def test_limits_are_kept(method, problem):
    plan = pr.solve(problem, method, time_limit=0.2)
    assert plan.lower_bound <= plan.value
    assert plan.value == pytest.approx(pr.evaluate(problem, plan.policy))
    assert 0.0 <= plan.proved <= plan.seconds
    assert plan.explored == pytest.approx(plan.seconds - plan.proved)


def test_what_an_exact_method_has_no_time_for_is_searched():
    problem = seeded(3, 2)
    assert solve_auto(problem, time_limit=60.0).status is pr.Status.OPTIMAL
    hurried = solve_auto(problem, time_limit=1e-3)
    assert hurried.method == "certified"
    assert hurried.lower_bound <= hurried.value


def test_an_instant_bound_takes_no_more_than_its_share():
    problem = seeded(6, 2)
    watch = Watch(1e-9)
    assert instant_bound(problem, watch) <= instant_bound(problem)
    assert projection_bound(problem, watch) <= projection_bound(problem)


def test_times_are_kept_in_files(tmp_path):
    plan = pr.solve(seeded(4, 2), "certified", time_limit=0.3)
    assert plan.proved > 0.0
    plan.save(tmp_path / "plan.json")
    again = pr.Plan.load(tmp_path / "plan.json")
    assert (again.seconds, again.proved, again.compiled) == (
        plan.seconds, plan.proved, plan.compiled,
    )  # fmt: skip
    older = plan.to_dict()
    for name in ("proved", "compiled"):
        older.pop(name, None)
    assert pr.Plan.from_dict(older).explored == plan.seconds
    with pytest.raises(pr.InvalidFile, match="proved: 'long'"):
        pr.Plan.from_dict({**plan.to_dict(), "proved": "long"})
