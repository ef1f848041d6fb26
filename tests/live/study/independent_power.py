"""Power of the templates, simulated without the code of `preceptor.live.study.power`.

People, cases, matching and tests are written again, person by person; every simulated study has
cases of its own. What is taken from the package is not what is checked here: study files, plans,
what a tutor shows, and the posterior probabilities of kinds.

    python -m tests.live.study.independent_power    prints the table of docs/power.md
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from scipy import stats

import preceptor as pr
from preceptor.data.log import Log
from preceptor.learners.families import OUTCOMES
from preceptor.learners.kind_posterior import candidate_learners, read_log
from preceptor.learners.posterior import first_spread
from preceptor.live.study import simulated_people
from preceptor.live.study.arms import make_arms
from preceptor.live.study.power import MIXTURE, _Simulations
from preceptor.live.study.registration import template, template_names
from preceptor.live.study.simulated_people import assumptions
from preceptor.live.study.study import Study

# Medians of the fifths of a lognormal distribution around .05.
RATES = np.exp(np.log(0.05) + 1.1 * stats.norm.ppf([0.1, 0.3, 0.5, 0.7, 0.9]))
# People per arm, and the only kind that is simulated where the mixture shows little.
SIZES = {
    "plan-or-fixed": (20, "by-showings"),
    "plan-or-predictive": (20, "by-showings"),
    "decisive": (50, None),
    "adaptive-or-plan": (10, None),
    "deskilling": (10, None),
}
SHORT = 15


class Round(NamedTuple):
    """What is shown (None: the arm decides), prescribed results, and whether the truth is told."""

    show: tuple[int, ...] | None
    values: tuple[float, ...] | None
    told: bool
    block: int


class Person:
    """Answers from weights; hidden readings are inferred from those shown, or average."""

    def __init__(self, world: World, first: Any, rate: float, kappa: float) -> None:
        self.world, self.w, self.rate, self.kappa = world, np.array(first, float), rate, kappa
        self.first, self.shown = self.w.copy(), np.zeros(self.w.size)

    def answer(self, show: tuple[int, ...], x: Any) -> float:
        rows = list(show)
        return float(x[rows] @ self.world.filling(show, self.kappa) @ self.w) if rows else 0.0

    def learn(self, show: tuple[int, ...], x: Any, y: float) -> None:
        """Never."""


class Delta(Person):
    def learn(self, show: tuple[int, ...], x: Any, y: float) -> None:
        rows, surprise = list(show), y - self.answer(show, x)
        self.w[rows] += self.rate * surprise * x[rows]


class Showings(Person):
    def learn(self, show: tuple[int, ...], x: Any, y: float) -> None:
        self.shown[list(show)] += 1
        truth = self.world.a
        self.w = truth + (self.first - truth) * (1.0 - self.rate) ** self.shown


class Exemplar(Person):
    def answer(self, show: tuple[int, ...], x: Any) -> float:
        if not hasattr(self, "cases"):
            return 0.0
        near = [
            np.exp(-0.7 * sum(abs(x[i] - seen.get(i, 0.0)) for i in show)) for seen, _ in self.cases
        ]
        return float(np.dot(near, [y for _, y in self.cases]) / np.sum(near))

    def learn(self, show: tuple[int, ...], x: Any, y: float) -> None:
        self.cases = [*getattr(self, "cases", ()), ({i: x[i] for i in show}, y)]


PEOPLE = {"delta-rule": Delta, "by-showings": Showings, "no-learning": Person, "exemplar": Exemplar}


class World:
    """The world of a template, in standard deviations of readings."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.names, self.a = said["names"], np.array(said["coefficients"])
        n, rho = self.a.size, said.get("correlation")
        if rho is None:
            self.cov = np.array(said["covariance"])
        else:
            self.cov = np.full((n, n), rho) + (1.0 - rho) * np.eye(n)
        self.root, self.noise = np.linalg.cholesky(self.cov), said["noise_variance"]
        self.sd = float(np.sqrt(self.a @ self.cov @ self.a + self.noise))
        self.filling = cache(self._filling)

    def _filling(self, show: tuple[int, ...], kappa: float) -> Any:
        felt, rows = (1.0 - kappa) * self.cov + kappa * np.eye(self.a.size), list(show)
        return np.linalg.inv(felt[np.ix_(rows, rows)]) @ felt[rows]

    def case(self, of: Round, rng: np.random.Generator) -> tuple[Any, float]:
        """A case; prescribed readings are conditioned on."""
        x = self.root @ rng.standard_normal(self.a.size)
        if of.values is not None:
            rows = list(of.show or ())
            gain = self.cov[:, rows] @ np.linalg.inv(self.cov[np.ix_(rows, rows)])
            x = x + gain @ ((np.array(of.values) - 50.0) / 10.0 - x[rows])
        return x, float(self.a @ x + np.sqrt(self.noise) * rng.standard_normal())


class Template:
    """A template, read again."""

    def __init__(self, name: str, kind: str | None = None) -> None:
        self.said = tomllib.loads(template(name))
        assumed = self.said["assumed"]
        assumed["kind"] = [each for each in assumed["kind"] if kind in (None, each["human"])]
        if any(arm["policy"] in ("adaptive", "case-aware") for arm in self.said["arm"]):
            self._shorten()
        self.study = Study.from_dict(self.said)
        self.world = World(self.said["problem"]["world"])
        self.rounds = list(self._rounds())
        self.training = sum(each.show is None for each in self.rounds)
        self.first = self.study.problem.learner.initial
        self.arms = {arm.name: arm for arm in make_arms(self.study)}
        self.compare = self.said["analysis"]["compare"]

    def _shorten(self) -> None:
        """Train for a few rounds only: a tutor takes some milliseconds for each."""
        (training,) = (block for block in self.said["block"] if block["kind"] == "training")
        training["rounds"] = self.said["problem"]["horizon"] = SHORT
        for number, check in enumerate(training["check"], 1):
            check["after"] = number

    def _rounds(self) -> Any:
        where = self.world.names.index
        for number, block in enumerate(self.said["block"], 1):
            if block["kind"] == "training":
                yield from [Round(None, None, True, number)] * block["rounds"]
            sets = [(names, None) for names in block.get("show", ())]
            sets += [(probe["show"], probe["values"]) for probe in block.get("probe", ())]
            for i in range(block.get("rounds", len(sets)) if sets else 0):
                names, values = sets[i % len(sets)]
                yield Round(tuple(sorted(map(where, names))), values, False, number)

    def person(self, rng: np.random.Generator) -> Person:
        """Somebody of the assumed mixture."""
        kinds = self.said["assumed"]["kind"]
        weights = np.array([kind["weight"] for kind in kinds])
        kind = kinds[rng.choice(len(kinds), p=weights / weights.sum())]
        rate = kind.get("rate") or rng.choice(RATES)
        if kind["human"] == "delta-rule":  # beyond this it may diverge
            rate = min(rate, 1.0 / (3.0 * self.said["problem"]["budget"]))
        usual = self.said["problem"]["learner"].get("imputation", 0.0)
        return PEOPLE[kind["human"]](self.world, self.first, rate, kind.get("imputation", usual))

    def played(self, arm: str, cases: list[Any], rng: np.random.Generator) -> Any:
        """Answers and sets of one new person in an arm, with these cases."""
        own, who, taught = self.arms[arm], self.person(rng), 0
        fixed = tutor = None
        if own.chooser is None:
            problem, in_view = self.study.problem, own.in_view
            tutor = pr.Tutor(problem) if in_view is None else in_view.tutor(problem)
        else:
            fixed = own.chooser.schedule(self.training)
        answers, sets = [], []
        for each, (x, y) in zip(self.rounds, cases, strict=True):
            show = each.show
            if show is None and tutor is not None:
                show = tutor.next(case=None if own.in_view is None else 50.0 + 10.0 * x)
            elif show is None:
                show = tuple(fixed[taught])
            taught += each.show is None
            slip = self.said["assumed"]["scatter"] * self.world.sd * rng.standard_normal()
            answers.append(who.answer(show, x) + slip)
            sets.append(show)
            if each.told:
                who.learn(show, x, y)
            if tutor is not None and taught < self.training:
                values = 50.0 + 10.0 * x[list(show)]
                tutor = tutor.after(
                    show, values, 100.0 + answers[-1], 100.0 + y if each.told else None
                )
        return np.array(answers), sets

    def cases(self, rng: np.random.Generator) -> list[Any]:
        """The cases of a place."""
        return [self.world.case(each, rng) for each in self.rounds]

    def error(self, answers: Any, cases: list[Any]) -> float:
        """The registered measure: squared error in training, or in the tests."""
        training = self.said["analysis"]["measure"] == "training error"
        tests = [i + 1 for i, b in enumerate(self.said["block"]) if b["kind"] == "test"]
        use = [each.told if training else each.block in tests for each in self.rounds]
        off = answers - np.array([y for _, y in cases])
        return float(np.mean(off[use] ** 2))

    def difference(self, rng: np.random.Generator) -> float:
        """The first arm minus the second, at a new place."""
        cases = self.cases(rng)
        first, second = (self.error(self.played(arm, cases, rng)[0], cases) for arm in self.compare)
        return first - second

    def is_careful(self, rng: np.random.Generator) -> bool:
        """Whether nobody at a place answers at random and fails the checks."""
        return bool(np.all(rng.random(len(self.compare)) >= self.said["assumed"]["careless"]))


def signs_flipped(d: Any, rng: np.random.Generator, times: int = 999) -> float:
    """Two-sided p-value."""
    means = np.abs(rng.choice([-1.0, 1.0], (times, d.size)) @ d)
    return (1 + np.sum(means >= abs(d.sum()) * (1.0 - 1e-12))) / (times + 1)


def of_two_arms(made: Template, people: int, studies: int, seed: int) -> tuple[float, float]:
    """Power, and its standard error: whole studies."""
    hits = 0
    for number in range(studies):
        rng = np.random.default_rng([seed, number])
        d = [made.difference(rng) for _ in range(people) if made.is_careful(rng)]
        hits += signs_flipped(np.array(d), rng) < 0.05
    share = hits / studies
    return share, float(np.sqrt(max(share * (1 - share), 0.5 / studies) / studies))


def with_a_tutor(made: Template, people: int, places: int, seed: int) -> tuple[float, float]:
    """Power of a paired t-test, for the effect among this many places; its standard error."""
    rng = np.random.default_rng(seed)
    d = np.array([made.difference(rng) for _ in range(places)])
    size = d.mean() / d.std(ddof=1)
    n = people * (1.0 - made.said["assumed"]["careless"]) ** 2
    edge = stats.t.ppf(0.975, n - 1)

    def power(size: float) -> float:
        moved = abs(size) * np.sqrt(n)
        return float(stats.nct.sf(edge, n - 1, moved) + stats.nct.cdf(-edge, n - 1, moved))

    wide = np.sqrt((1.0 + size**2 / 2.0) / places)
    return power(size), (power(abs(size) + wide) - power(max(abs(size) - wide, 0.0))) / 2.0


def unrelated(x: Any, y: Any) -> float:
    """Probability that answers do not depend on readings; hidden ones are at their mean."""
    x, y = np.where(np.isnan(x), 0.0, x - np.nanmean(x, axis=0)), y - y.mean()
    k, n = np.linalg.matrix_rank(x), y.size
    rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    left = rest @ rest / (y @ y)
    factor = (n - 1 - k) / 2 * np.log1p(n) - (n - 1) / 2 * np.log1p(n * left)
    return float(1.0 / (1.0 + np.exp(factor)))


def of_kinds(made: Template, people: int, studies: int, seed: int) -> tuple[float, float]:
    """Power of the decisive experiment: signs among people whose kind is decided."""
    world, hits = made.study.problem.world, 0
    crowd = candidate_learners(world, made.study.problem.learner.initial)
    (arm,), told = made.compare, np.array([each.told for each in made.rounds])
    for number in range(studies):
        rng = np.random.default_rng([seed, number])
        shown, values, answers, outcomes, neither = [], [], [], [], []
        for _ in range(people):
            if not made.is_careful(rng):
                continue
            cases = made.cases(rng)
            given, sets = made.played(arm, cases, rng)
            member = np.array([[i in show for i in range(world.size)] for show in sets])
            x = np.array([50.0 + 10.0 * x for x, _ in cases])
            shown.append(member)
            values.append(np.where(member, x, np.nan))
            answers.append(100.0 + given)
            outcomes.append(100.0 + np.array([y for _, y in cases]))
            neither.append(unrelated(values[-1], given))
        size, rounds = len(answers), len(made.rounds)
        names = np.repeat([f"p{i:04d}" for i in range(size)], rounds)
        log = Log(world.labels, names, np.tile(np.arange(rounds), size), np.concatenate(shown),
                  np.concatenate(values), np.concatenate(answers), np.concatenate(outcomes),
                  np.tile(told, size))  # fmt: skip
        read = read_log(world, log, crowd, spread=first_spread(world), process_noise=0.0, workers=1)
        share = {person.name: person.groups[OUTCOMES] for person in read.people}
        shares = np.array([share[f"p{i:04d}"] for i in range(size)])
        kept = np.array(neither) < 0.9
        sure = 1.0 - np.array(neither)[kept]
        yes = int(np.sum(sure * shares[kept] >= 0.9))
        no = int(np.sum(sure * (1.0 - shares[kept]) >= 0.9))
        if yes + no:
            by_chance = stats.binom.sf(yes + no - 1, size, 1.0 / 9.0)
            hits += max(stats.binomtest(yes, yes + no).pvalue, by_chance) < 0.05
    share = hits / studies
    return share, float(np.sqrt(max(share * (1 - share), 0.5 / studies) / studies))


def independent(name: str, studies: int, seed: int = 1) -> tuple[float, float]:
    """Power of a template, and its standard error; with a tutor, from `studies` places."""
    people, kind = SIZES[name]
    made = Template(name, kind)
    if made.said["analysis"]["measure"] == "kind":
        return of_kinds(made, people, studies, seed)
    work = with_a_tutor if is_tutored(made) else of_two_arms
    return work(made, people, studies, seed)


def is_tutored(made: Template) -> bool:
    """Whether a tutor decides in one of the arms."""
    return any(arm.chooser is None for arm in made.arms.values())


def registered(name: str, seeds: int, simulations: int) -> tuple[float, float]:
    """What `preceptor study power` says about the same people, averaged over seeds of the study.

    Cases of a place follow from the seed, and some are better at telling arms apart. Each seed has
    other people with a tutor, too, so that a bank with one of a kind will do.
    """
    people, kind = SIZES[name]
    found = []
    for seed in range(1, seeds + 1):
        study = Study.from_dict({**Template(name, kind).said, "seed": seed})
        run = _Simulations(study, make_arms(study), simulations, seed)
        with patch.object(simulated_people, "DRAWS", 1):
            (mixture,) = run.of([(MIXTURE, assumptions(study))], [people])
        found.append(mixture.cells[0].power.share)
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(seeds))


def table(names: Sequence[str]) -> Iterator[str]:
    """Rows of the table, one for each template."""
    for name in names:
        (people, kind), tutored = SIZES[name], is_tutored(Template(name))
        seeds, simulations = (8, 50) if tutored else (12, 20)
        said, off = registered(name, seeds, simulations)
        studies = 160 if tutored else 120
        found, wide = independent(name, studies)
        yield (
            f"| `{name}` | {kind or 'all assumed'} | {people} | {said:.2f} ± {off:.2f} | "
            f"{seeds} × {simulations} | {found:.2f} ± {wide:.2f} | "
            f"{studies} {'places' if tutored else 'studies'} |\n"
        )


if __name__ == "__main__":
    for row in table(sys.argv[1:] or template_names()):
        sys.stdout.write(row)
        sys.stdout.flush()
