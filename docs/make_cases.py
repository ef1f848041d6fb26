"""Measure teaching with the case in view on real tables; makes tables and pictures of `cases.md`.

    python docs/make_cases.py              everything, about half an hour of one core
    python docs/make_cases.py training     only one part: see `PARTS`
    python docs/make_cases.py page         write tables and pictures from what was measured
    python docs/make_cases.py --quick      two people of each kind, printed and not written

One half of a table is the model and the cases to teach with; people are tested on the other half,
with real outcomes. Everything is seeded, and all policies meet the same people, cases and slips.
Finished people are kept in a journal in the temporary folder, so a run that was stopped continues;
delete the journal to measure again.

The default tau is the one with the least product of aided error and error alone, each relative to
the fixed set, in the geometric mean over people and kinds of the tables of `CHOOSING`, of which the
page shows no frontier.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cases_tables as tables
import numpy as np
from body_fat import load_body_fat
from make_people import marked, with_table
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression

import preceptor as pr
from preceptor._base.values import FloatArray
from preceptor.learners import CasePool, Plausibility
from preceptor.learners.case_rule import SetMaps, alone_loss
from preceptor.model.sets import TestSet
from preceptor.simulation import ExemplarLearner, RandomOrder, most_predictive

JOURNAL = Path(tempfile.gettempdir()) / "preceptor-cases.jsonl"
PAGE = Path(__file__).parent / "cases.md"
ASSETS = Path(__file__).parent / "assets" / "cases"
SPLITS = 4
# People who are trained, and who are helped live, for each table and kind; splits take turns.
TRAINED, HELPED = 16, 8
# Scatter of answers over the outcome's standard deviation, and of first weights; for yes/no on the
# scale of log odds.
SCATTER, FIRST, LOGIT_SCATTER, LOGIT_FIRST = 0.6, 0.3, 1.2, 0.6
TRAINING, BASELINE, LIVE = 40, 200, 200
TAUS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0)
# With a random half of the results known; more of them on the tables where the default is chosen.
HALF_TAUS, HALF_TAUS_CHOOSING = (10.0, 30.0), (3.0, 10.0, 30.0, 100.0)
FREE = Plausibility(central=1.0, balance=0.0)
CENTRAL = Plausibility(balance=0.0)
SHOWN, CHOOSING = ("diabetes", "body fat", "breast cancer"), ("wine", "made up")

KINDS = ("delta 0", "delta 1", "Bayesian", "showings")
YES_NO_KINDS = ("delta 0", "delta 1", "delta 1 fast", "showings")
EXEMPLARS = ("exemplar 0.7", "exemplar 3")
WRONG = {"delta 0": "delta 1", "delta 1": "delta 0", "Bayesian": "delta 1", "showings": "delta 0"}


# --- tables ---


@dataclass(frozen=True)
class Split:
    """One half of a table as a model with its cases, and the other half to test on."""

    world: pr.World
    budget: int
    x: FloatArray
    y: FloatArray
    test_x: FloatArray
    test_y: FloatArray


def columns(name: str) -> tuple[FloatArray, FloatArray, int]:
    """Results, outcomes, and how many tests are shown."""
    if name == "diabetes":
        x, y = load_diabetes(return_X_y=True)
        return x, y, 2
    if name == "body fat":
        cases = load_body_fat().frame
        cases.loc[41, "height"] = 69.5  # a misprint
        tests = [c for c in cases.columns if c not in ("brozek", "siri", "density")]
        return cases[tests].to_numpy(float), cases["brozek"].to_numpy(float), 3
    if name == "breast cancer":
        x, y = load_breast_cancer(return_X_y=True)
        return x[:, :10], 1.0 - y, 2  # malignant is yes
    if name == "made up":
        rng = np.random.default_rng(0)
        factors = rng.normal(size=(8, 3))
        x = rng.normal(size=(400, 3)) @ factors.T + 1.5 * rng.normal(size=(400, 8))
        score = x @ rng.normal(size=8)
        return x, score + score.std() * rng.normal(size=400), 2
    assert name == "wine"  # alcohol from the other measurements
    x, _ = load_wine(return_X_y=True)
    return x[:, 1:], x[:, 0], 2


@cache
def split_of(name: str, split: int) -> Split:
    x, y, budget = columns(name)
    order = np.random.default_rng(split).permutation(y.size)
    mine, others = order[: y.size // 2], order[y.size // 2 :]
    x = (x - x[mine].mean(axis=0)) / x[mine].std(axis=0)
    covariance = np.cov(x[mine].T, bias=True) + 1e-3 * np.eye(x.shape[1])
    if name == "breast cancer":
        fit = LogisticRegression(C=0.3, max_iter=1000).fit(x[mine], y[mine])
        outcome = pr.Binary(float(y[mine].mean()), "logistic")
        world = pr.World(fit.coef_[0], covariance, outcome=outcome)
    else:
        y = (y - y[mine].mean()) / y[mine].std()
        weights = np.linalg.lstsq(x[mine], y[mine], rcond=None)[0]
        world = pr.World(weights, covariance, float(np.var(y[mine] - x[mine] @ weights)))
    return Split(world, budget, x[mine], y[mine], x[others], y[others])


# --- people, and the tutor's kinds ---


def person(kind: str, first: FloatArray, *, binary: bool) -> pr.Person:
    rate = 0.2 if binary else 0.05
    if kind == "showings":
        return pr.Learner(first, pr.Geometric(1 / 0.95))
    if kind == "Bayesian":
        return pr.Bayesian(first, FIRST**2, 1.0)
    fast = 2.0 if kind.endswith("fast") else 1.0
    return pr.DeltaRule(first, fast * rate, imputation=1.0 if "1" in kind else 0.0)


def mixture(size: int, *, binary: bool) -> pr.Crowd:
    """Six kinds, none with the rate of the simulated people."""
    zero, slow, fast = np.zeros(size), *((0.08, 0.32) if binary else (0.02, 0.08))
    return pr.Crowd(
        {
            "ignores correlations, slow": (pr.DeltaRule(zero, slow, imputation=1.0), 0.25),
            "ignores correlations, fast": (pr.DeltaRule(zero, fast, imputation=1.0), 0.25),
            "knows correlations, slow": (pr.DeltaRule(zero, slow), 0.1),
            "knows correlations, fast": (pr.DeltaRule(zero, fast), 0.1),
            "by showings": (pr.Learner(zero, pr.Geometric(1 / 0.95)), 0.2),
            "not learning": (pr.NoLearning(zero), 0.1),
        }
    )


def tutor_of(data: Split, kinds: pr.Crowd | pr.Person, **options: Any) -> pr.Tutor:
    binary = data.world.is_binary
    risk = pr.LogLoss() if binary else None
    problem = pr.Problem(data.world, kinds, pr.Exactly(data.budget), 0.99, risk=risk)
    usual = {"spread": LOGIT_FIRST if binary else FIRST, "level": False, "process_noise": 0.02}
    if not isinstance(kinds, pr.Crowd):
        usual |= {"none_of_these": 0.0}
    return pr.Tutor(problem, **usual | options)


# --- how good a person is alone ---


class Alone:
    """Loss on the other half, over all sets alike, of a person who reads tests through `omega`."""

    def __init__(self, data: Split, omega: FloatArray) -> None:
        self.data = data
        self.sets = pr.Exactly(data.budget).sets(data.world.size)
        self.maps = SetMaps.of(omega, self.sets)
        self._test = self.maps.entries(data.test_x)
        shares = np.full(len(self.sets), 1.0 / len(self.sets))
        if data.world.is_binary:
            teach = self.maps.entries(data.x)
            found = minimize(
                lambda w: self._log_loss(teach, data.y, w), np.zeros(data.world.size), tol=1e-6
            ).x
        else:
            loss = alone_loss(data.world, self.maps, shares)
            found = np.linalg.pinv(loss.hessian) @ loss.slope
        self.expert = self(found)

    def scores(self, entries: FloatArray, weights: FloatArray) -> FloatArray:
        read: FloatArray = np.einsum("csk,sk->cs", entries, self.maps.reading @ weights)
        return read

    def _log_loss(self, entries: FloatArray, y: FloatArray, weights: FloatArray) -> float:
        score = self.data.world.base_score + self.scores(entries, weights)
        return float(np.mean(np.logaddexp(0.0, score) - y[:, None] * score))

    def __call__(self, weights: FloatArray) -> float:
        if self.data.world.is_binary:
            return self._log_loss(self._test, self.data.test_y, weights)
        away = self.data.test_y[:, None] - self.scores(self._test, weights)
        return float(np.mean(away**2))

    def of_exemplar(self, human: ExemplarLearner) -> float:
        """Of at most 60 sets, always the same ones."""
        some = np.random.default_rng(0).permutation(len(self.sets))[:60]
        answers = [human.predict_cases(s, self.data.test_x[:, s]) for s in map(self._rows, some)]
        return float(np.mean((self.data.test_y - np.array(answers)) ** 2))

    def _rows(self, position: int) -> TestSet:
        return self.sets[int(position)]


def alone_of(table: str, split: int, kappa: float) -> Alone:
    data = split_of(table, split)
    sigma = data.world.covariance
    return Alone(data, (1.0 - kappa) * sigma + kappa * np.diag(np.diag(sigma)))


alone_of = cache(alone_of)


def met(table: str, split: int, who: int, kind: str) -> tuple[Any, Alone]:
    """A simulated person at the start, and the measure of what they can do alone."""
    data = split_of(table, split)
    if kind in EXEMPLARS:
        human = ExemplarLearner(data.world, float(kind.split()[1]))
        return human, alone_of(table, split, 0.0)
    binary = data.world.is_binary
    spread, noise = (LOGIT_FIRST, LOGIT_SCATTER) if binary else (FIRST, SCATTER)
    first = spread * np.random.default_rng([split, who]).standard_normal(data.world.size)
    someone = person(kind, first, binary=binary)
    risk = pr.LogLoss() if binary else None
    human = someone.acting(data.world, None, noise, risk)
    return human, alone_of(table, split, 1.0 if "delta 1" in kind else 0.0)


def level(human: Any, alone: Alone) -> float:
    """Loss alone over an expert's."""
    now = alone.of_exemplar(human) if isinstance(human, ExemplarLearner) else alone(human.weights)
    return now / alone.expert


# --- one session ---


def session(
    human: Any,
    alone: Alone,
    rounds: int,
    seed: int,
    x: FloatArray,
    y: FloatArray,
    *,
    tutor: pr.Tutor | None = None,
    schedule: Sequence[TestSet] | None = None,
    looks: str = "nothing",
    asked: Sequence[int] = (),
) -> dict[str, Any]:
    """Teach one person; loss alone (over an expert's) at rounds `asked`, and errors on the way.

    `looks` is "nothing", "case", "half" (a random half of the results) or "pool".
    """
    rng = np.random.default_rng([seed, 7])
    order = np.resize(rng.permutation(y.size), rounds)
    slips = SCATTER * rng.standard_normal(rounds)
    halves = rng.random((rounds, x.shape[1])).argsort(axis=1) < x.shape[1] // 2
    pool = CasePool(x, y) if looks == "pool" else None
    exemplar = isinstance(human, ExemplarLearner)
    human.reset(seed)
    curve, errors, rows = {}, np.empty(rounds), []
    for t in range(rounds):
        if t in asked:
            curve[t] = level(human, alone)
        row = int(order[t])
        if schedule is not None:
            shown = schedule[t]
        elif pool is not None:
            assert tutor is not None
            row, shown = tutor.next(pool=pool)
        else:
            assert tutor is not None
            case = {"case": x[row], "half": np.where(halves[t], x[row], np.nan)}.get(looks)
            shown = tutor.next(case=case)
        rows.append(row)
        values, outcome = x[row, list(shown)], float(y[row])
        answer = human.predict(shown, values)
        errors[t] = (outcome - _meant(human, alone, shown, x[row], answer)) ** 2
        human.feedback(shown, values, outcome)
        if tutor is not None:
            said = answer + slips[t] if exemplar else answer
            tutor = tutor.after(shown, values, said, outcome, row if pool else None)
    if rounds in asked:
        curve[rounds] = level(human, alone)
    found = {"alone": curve, "error": float(errors.mean()), "late": float(errors[-50:].mean())}
    if pool is not None and not alone.data.world.is_binary:
        rest = y - x @ alone.data.world.coefficients
        found["lawful"] = float(rest.var() / y.var() - rest[rows].var() / y[rows].var())
    return found | {"expert": alone.expert}


def _meant(human: Any, alone: Alone, shown: TestSet, x: FloatArray, answer: float) -> float:
    """The answer without its scatter."""
    if isinstance(human, ExemplarLearner):
        return answer
    rows = list(shown)
    read = alone.maps.reading[alone.sets.index(shown), : len(rows)]
    score = float(x[rows] @ (read @ human.weights))
    world = alone.data.world
    return float(expit(world.base_score + score)) if world.is_binary else score


@cache
def plan_of(table: str, split: int) -> tuple[TestSet, ...]:
    """The plan with the least mean cost for the mixture, made before the first answer."""
    data = split_of(table, split)
    setting = tutor_of(data, mixture(data.world.size, binary=False)).problem.replace(horizon=100)
    plan = pr.solve(setting, "search", objective="mean", max_kicks=1, time_limit=None)
    return tuple(plan.policy.schedule(BASELINE))


def schedules(table: str, split: int, who: int) -> Iterator[tuple[str, list[TestSet]]]:
    data = split_of(table, split)
    problem = tutor_of(data, mixture(data.world.size, binary=data.world.is_binary)).problem
    yield "fixed", [most_predictive(problem).shown] * BASELINE
    drawn = RandomOrder.of(problem).schedule_for(BASELINE, np.random.default_rng(who))
    yield "random", drawn
    if not data.world.is_binary:
        yield "plan", list(plan_of(table, split))


def training(table: str, split: int, who: int, kind: str) -> dict[str, Any]:
    """Every policy with every tutor, one person."""
    data = split_of(table, split)
    human, alone = met(table, split, who, kind)
    binary, zero = data.world.is_binary, np.zeros(data.world.size)
    found = {}

    def play(name: str, rounds: int = TRAINING, **options: Any) -> None:
        asked = [*range(TRAINING + 1), *range(45, rounds + 1, 5)]
        seed = 100 * split + who
        found[name] = session(human, alone, rounds, seed, data.x, data.y, asked=asked, **options)

    for name, schedule in schedules(table, split, who):
        play(name, TRAINING if kind in EXEMPLARS else BASELINE, schedule=schedule)
    tutors: dict[str, Any] = {"mixture": mixture(data.world.size, binary=binary)}
    if kind in WRONG:
        tutors["right"] = person(kind, zero, binary=binary)
        tutors["wrong"] = person(WRONG[kind], zero, binary=binary)
    for who_tutor, kinds in tutors.items():
        for looks in ("nothing", "case", "pool"):
            tutor = tutor_of(data, kinds, tau=math.inf)
            play(f"{looks}, {who_tutor}", tutor=tutor, looks=looks)
    if kind in EXEMPLARS or kind == "delta 1":
        for name, plausible in {"free": FREE, "central": CENTRAL}.items():
            tutor = tutor_of(data, tutors["mixture"], tau=math.inf, plausible=plausible)
            play(f"pool {name}", tutor=tutor, looks="pool")
    return found


def live(table: str, split: int, who: int, kind: str) -> dict[str, Any]:
    """Aided and alone over tau: live cases are half of the other half, the rest tests."""
    whole = split_of(table, split)
    cut = whole.test_y.size // 2
    human, _ = met(table, split, who, kind)
    data = Split(
        whole.world, whole.budget, whole.x, whole.y, whole.test_x[cut:], whole.test_y[cut:]
    )
    alone = Alone(data, human.person.imputing_covariance(data.world))
    kinds = mixture(data.world.size, binary=data.world.is_binary)
    found = {}

    def play(name: str, **options: Any) -> None:
        cases = whole.test_x[:cut], whole.test_y[:cut]
        seed = 100 * split + who
        found[name] = session(human, alone, LIVE, seed, *cases, asked=(0, LIVE), **options)

    play("fixed", schedule=next(schedules(table, split, who))[1])
    for tau in TAUS:
        play(f"case, {tau:g}", tutor=tutor_of(data, kinds, tau=tau), looks="case")
    if not data.world.is_binary:
        for tau in HALF_TAUS_CHOOSING if table in CHOOSING else HALF_TAUS:
            play(f"half, {tau:g}", tutor=tutor_of(data, kinds, tau=tau), looks="half")
    return found


# --- measuring ---

Item = tuple[str, str, int, int, str]
PARTS: dict[str, Callable[[str, int, int, str], dict[str, Any]]] = {
    "training": training,
    "live": live,
}


def items(part: str, people: int) -> list[Item]:
    """What to measure, person by person, so that a run that is stopped has all cells."""
    if part == "training":
        asked = dict.fromkeys(("diabetes", "body fat", "wine"), (*KINDS, *EXEMPLARS))
    else:
        asked = {"diabetes": (*KINDS, "delta 1 fast"), "body fat": (*KINDS, "delta 1 fast")}
        asked |= dict.fromkeys(CHOOSING, KINDS)
    asked["breast cancer"] = YES_NO_KINDS
    everyone = [(who % SPLITS, who // SPLITS) for who in range(people)]
    return [
        (part, t, s, w, kind) for s, w in everyone for t, kinds in asked.items() for kind in kinds
    ]


def measure(item: Item) -> tuple[Item, dict[str, Any]]:
    part, *rest = item
    return item, PARTS[part](*rest)


def journal(path: Path) -> dict[Item, dict[str, Any]]:
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return {tuple(key): value for key, value in lines}


def fill(wanted: Sequence[Item], path: Path, workers: int) -> None:
    known = journal(path)
    missing = [item for item in wanted if item not in known]
    began = time.perf_counter()
    with path.open("a", encoding="utf-8") as out, ProcessPoolExecutor(workers) as pool:
        for done, (key, value) in enumerate(pool.map(measure, missing), 1):
            out.write(json.dumps([key, value]) + "\n")
            out.flush()
            if done % 20 == 0:
                print(f"{done}/{len(missing)}, {time.perf_counter() - began:.0f} s", flush=True)


# --- the page ---

FRONTIERS = {"diabetes": KINDS, "body fat": KINDS, "breast cancer": YES_NO_KINDS}
NUMERIC = ("diabetes", "body fat", "wine")


def page_tables(found: tables.Found) -> dict[str, str]:
    """The tables of the page, by the name between their markers."""
    made = {f"training {t}": tables.training(found, t, (*KINDS, *EXEMPLARS)) for t in NUMERIC}
    made["training breast cancer"] = tables.training(found, "breast cancer", YES_NO_KINDS)
    made["harm"] = tables.harm(found, NUMERIC)
    made["comfort"] = tables.comfort(found, NUMERIC[:2], KINDS)
    made |= {f"frontier {t}": tables.frontier(found, t, kinds) for t, kinds in FRONTIERS.items()}
    fast = ("delta 0", "delta 1", "delta 1 fast")
    made["deskilling"] = tables.deskilling(found, dict.fromkeys(FRONTIERS, fast))
    made["choosing"] = tables.choosing(found, CHOOSING, KINDS)
    return made


def write_page(found: tables.Found) -> None:
    text = PAGE.read_text("utf-8")
    for name, table in page_tables(found).items():
        if marked(text, name) is None:
            sys.exit(f"{PAGE.name} has no markers for the table {name!r}")
        text = with_table(text, name, table)
    PAGE.write_text(text, "utf-8")
    ASSETS.mkdir(exist_ok=True)
    tables.draw_learning(
        found, ("diabetes", "body fat", "wine"), "delta 1", ASSETS / "learning.svg"
    )
    tables.draw_frontier(found, FRONTIERS, ASSETS / "frontier.svg")


def main(arguments: list[str]) -> None:
    quick = "--quick" in arguments
    path = JOURNAL.with_stem("preceptor-cases-quick") if quick else JOURNAL
    trained, helped = (2, 2) if quick else (TRAINED, HELPED)
    parts = [name for name in arguments if name in PARTS] or list(PARTS)
    wanted = {"training": items("training", trained), "live": items("live", helped)}
    if "page" not in arguments:
        fill([item for part in parts for item in wanted[part]], path, 2)
    everything = {*wanted["training"], *wanted["live"]}
    found = {item: value for item, value in journal(path).items() if item in everything}
    if quick:
        for name, table in page_tables(found).items():
            print(f"\n{name}\n{table}")
    elif everything <= found.keys():
        write_page(found)
    else:
        sys.exit(f"{len(everything) - len(found)} of {len(everything)} are still to be measured")


if __name__ == "__main__":
    main(sys.argv[1:])
