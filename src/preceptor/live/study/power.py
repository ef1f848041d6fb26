"""Power: the study as it will be run, simulated and analysed as registered.

One simulation is a whole study: people come one by one and are assigned to arms, some are careless,
some drop out and their places go to others; then the registered analysis decides. Smaller studies
are the first parts of larger ones. Everything simulated comes from one seed; cases, schedules and
arms are those of the study file. The result is presented as text and as a figure.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from preceptor._base.checks import count_faults, is_count
from preceptor._base.many import run_many
from preceptor._base.parallel import Executor, executor_of
from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted
from preceptor.errors import InvalidInput
from preceptor.live.study.analysis import (
    KindCounts,
    exclusion_reasons,
    run_registered_test,
    without_nan,
)
from preceptor.live.study.arms import Arm, make_arms
from preceptor.live.study.cases import Chance
from preceptor.live.study.measures import (
    MEASURES,
    UNRELATED,
    Records,
    concatenate,
    unrelated_probability,
)
from preceptor.live.study.simulated_people import (
    DRAWS,
    Assumption,
    SimulatedStudy,
    assumptions,
    make_stage,
    noise,
    played,
    recruited,
    with_tutored_banks,
)
from preceptor.live.study.study import Study
from preceptor.report.plots import DASHES, GREY, OKABE_ITO, figure_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIXTURE = "everybody"
# People, p, effect, deviation, share excluded.
_Run = tuple[int, float, float, float, float]
# Permutations per simulated analysis: enough for a level of 0.05.
_RESAMPLES = 999
# People simulated at once, at most.
_CHUNK = 1_500


@dataclass(frozen=True)
class Share:
    """A share of simulations or people, with a 95% interval: Wilson's, or a wider one."""

    share: float
    low: float
    high: float
    of: int

    @classmethod
    def counted(cls, hits: int, of: int, shared: float = 0.0) -> Share:
        """The share `hits` of `of`; `shared` is the variance of z-values that all of them share."""
        if of == 0:
            return cls(math.nan, 0.0, 1.0, 0)
        made = stats.binomtest(hits, of).proportion_ci(0.95, method="wilson")
        low, high = float(made.low), float(made.high)
        if shared:
            # As quantiles, both errors are about normal; they are independent.
            middle, wide = _quantile(hits / of, of), 1.96 * math.sqrt(shared)
            low = stats.norm.cdf(middle - math.hypot(_quantile(low, of) - middle, wide))
            high = stats.norm.cdf(middle + math.hypot(_quantile(high, of) - middle, wide))
        return cls(hits / of, float(low), float(high), of)


def _quantile(share: float, of: int) -> float:
    """Normal quantile of a share; finite also for none and all of them."""
    ends = 0.5 / of
    return float(stats.norm.ppf(min(max(share, ends), 1.0 - ends)))


@dataclass(frozen=True)
class Cell:
    """Result for one kind of person and one number of people per arm.

    Attributes
    ----------
    kind
        Kind of person; `everybody` is the mixture of the study file.
    people
        People per arm who finish.
    power
        Share of simulations in which p was below the level.
    effect, standardised
        On average over simulations: in units of the measure, and in average standard deviations of
        what the test compares (differences between people at the same place; Welch: people). The
        latter is NaN for a sign test.
    excluded
        Share of assigned people who were excluded.
    failed
        Simulations in which the test could not be carried out.
    """

    kind: str
    people: int
    power: Share
    effect: float
    standardised: float
    excluded: float
    failed: int


@dataclass(frozen=True)
class Told:
    """How people of a kind are classified, at a probability of 0.9.

    Attributes
    ----------
    kind
        Kind of person.
    outcomes, others
        Share of those who learn from outcomes, and of those who do not.
    unrelated
        Neither: answers do not depend on the tests.
    undecided
        The rest.
    """

    kind: str
    outcomes: Share
    others: Share
    unrelated: Share
    undecided: Share


@dataclass(frozen=True)
class Power:
    """Result of a power analysis.

    Attributes
    ----------
    cells
        By kind and size.
    told
        For the measure `kind`: how people of every kind are classified, and those who answer at
        random. People who were excluded only because their answers do not depend on the tests are
        included.
    noise
        By size: studies in which everybody answers at random.
    simulations, seed
        Number of simulations, and their seed.
    target
        The desired power.
    measure, test, level
        As registered.
    tutored
        Whether people with a tutor were drawn from a bank.
    """

    cells: tuple[Cell, ...]
    told: tuple[Told, ...]
    noise: tuple[Cell, ...]
    simulations: int
    seed: int
    target: float
    measure: str
    test: str
    level: float
    tutored: bool = False

    def needed(self, kind: str = MIXTURE) -> int | None:
        """The smallest simulated size that reaches the target; None if none does."""
        enough = (c for c in self.cells if c.kind == kind and c.power.share >= self.target)
        return min((cell.people for cell in enough), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None where a number could not be computed."""
        kinds = dict.fromkeys(cell.kind for cell in self.cells)
        needed = [{"kind": kind, "people": self.needed(kind)} for kind in kinds]
        return without_nan({**asdict(self), "needed": needed})


def power(
    study: Study,
    people: Sequence[int] = (10, 20, 40),
    *,
    simulations: int = 200,
    target: float = 0.8,
    seed: int = 0,
    arms: Sequence[Arm] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Power:
    """Estimate the power of a study by simulation.

    If the power of the mixture of kinds passes the target between two sizes or soon after the
    largest, sizes in between or beyond are simulated too, with people of their own, until one has a
    power between the target and half-way to 1. Studies with a tutor are not searched like this.

    With more than one worker a script must guard its entry with `if __name__ == "__main__":`.

    Parameters
    ----------
    study
        The study, with the kinds of people it assumes.
    people
        Sizes to try: people per arm who finish.
    simulations
        Studies to simulate, for every kind of person and for their mixture.
    target
        The desired power, from 0 to 1.
    seed
        For people and their answers; cases come from the study's seed.
    arms
        From `make_arms`; made by default.
    workers
        Processes; by default one per core if there are many people to simulate. Results do not
        depend on it.
    progress
        Called as simulations finish.

    Returns
    -------
    Power
        For every kind, and for their mixture.

    Raises
    ------
    InvalidInput
        Invalid numbers.
    """
    faults = []
    if not people or not all(is_count(n, least=2) for n in people):
        faults.append(f"people: {list(people)}, must be whole numbers of at least 2")
    faults += count_faults(10, simulations=simulations)
    if not 0.0 < target < 1.0:
        faults.append(f"target: {target!r}, must be between 0 and 1")
    InvalidInput.raise_if(faults)
    sizes, kinds = sorted(set(people)), assumptions(study)
    made = make_arms(study, progress) if arms is None else tuple(arms)
    groups: list[tuple[str, tuple[Assumption, ...]]]
    groups = [(kind.name, (kind,)) for kind in (*kinds, noise(study))]
    if len(kinds) > 1:
        groups.insert(len(kinds), (MIXTURE, kinds))
    if workers is None and simulations * len(groups) * len(made) * sizes[-1] < 4 * _CHUNK:
        workers = 1
    level = study.configuration.analysis.level
    with executor_of(workers) as executor:
        run = _Simulations(study, made, simulations, seed, executor, progress)
        found = run.of(groups, sizes)
        # The mixture of all kinds, or the only kind.
        searched, attempt = len(groups) - 2, 0
        while not run.is_tutored and (size := _next_size(found[searched].cells, target, level)):
            attempt += 1
            (more,) = run.of(groups[searched : searched + 1], [size], attempt)
            cells = sorted([*found[searched].cells, *more.cells], key=lambda cell: cell.people)
            found[searched] = replace(found[searched], cells=tuple(cells))
    said = study.configuration.analysis
    *learners, random = found
    return Power(
        tuple(cell for each in learners for cell in each.cells),
        tuple(each.told for each in found if each.told is not None),
        random.cells,
        simulations,
        seed,
        target,
        said.measure,
        said.test,
        said.level,
        run.is_tutored,
    )


# Sizes that are simulated in search of the target.
_MOST_SIZES = 12


def _next_size(cells: Sequence[Cell], target: float, level: float) -> int | None:
    """The size to simulate next, or None if the smallest sufficient one is known well enough.

    Power is taken to be that of a z-test, whose quantile grows with the root of the size; that is
    only a guess where to look.
    """
    most = target + (1.0 - target) / 2.0
    aim, reach = target + (1.0 - target) / 4.0, stats.norm.ppf(1.0 - level / 2.0)

    def signal(cell: Cell) -> float:
        return _quantile(cell.power.share, cell.power.of) + float(reach)

    enough = [cell for cell in cells if cell.power.share >= target]
    above = enough[0] if enough else None
    below = [cell for cell in cells if above is None or cell.people < above.people]
    if len(cells) >= _MOST_SIZES or (above is not None and above.power.share <= most):
        return None
    wanted = float(stats.norm.ppf(aim)) + reach
    if above is not None and below:
        ends = [below[-1], above]
        root = np.interp(wanted, [*map(signal, ends)], [math.sqrt(c.people) for c in ends])
        size, least, largest = float(root) ** 2, below[-1].people + 1, above.people - 1
    else:
        near = below[-1] if above is None else above
        if above is None and near.power.low <= level:
            return None
        size = near.people * (wanted / signal(near)) ** 2
        least, largest = (
            (near.people + 1, 4 * near.people) if above is None else (2, near.people - 1)
        )
    return min(max(math.ceil(size), least), largest) if least <= largest else None


@dataclass(frozen=True)
class _Simulated:
    """Results of one group: a cell for each size, and for the measure `kind` how it is told."""

    cells: tuple[Cell, ...]
    told: Told | None


@dataclass(frozen=True)
class _Simulations:
    """Simulated studies of groups of people."""

    study: Study
    arms: tuple[Arm, ...]
    simulations: int
    seed: int
    executor: Executor | None = None
    progress: Progress | None = None

    @property
    def is_tutored(self) -> bool:
        return any(arm.is_adaptive for arm in self.arms)

    def of(
        self,
        groups: Sequence[tuple[str, tuple[Assumption, ...]]],
        sizes: Sequence[int],
        attempt: int = 0,
    ) -> list[_Simulated]:
        """Results of each group; another attempt has other people."""
        stage = make_stage(self.study, self.arms, sizes[-1])
        kinds = {id(kind): kind for _, who in groups for kind in who}
        number = {key: i for i, key in enumerate(kinds)}
        full = with_tutored_banks(
            stage, tuple(kinds.values()), self.seed, self.executor, self.progress
        )
        stages = [full.of_kinds([number[id(kind)] for kind in who]) for _, who in groups]
        at_once = max(1, _CHUNK // (len(stage.arms) * sizes[-1]))
        begin, end = attempt * self.simulations, (attempt + 1) * self.simulations
        items = [
            (which, first, min(first + at_once, end))
            for which in range(len(groups))
            for first in range(begin, end, at_once)
        ]
        work = functools.partial(
            _simulated,
            stages=stages,
            groups=[who for _, who in groups],
            sizes=list(sizes),
            seed=self.seed,
        )
        done = run_many(
            work, items, executor=self.executor, progress=self.progress, noun="simulations"
        )
        said = self.study.configuration.analysis
        found = []
        for which, (name, who) in enumerate(groups):
            mine = [each for item, each in zip(items, done, strict=True) if item[0] == which]
            runs = [run for each, _ in mine for run in each]
            cells = [
                _cell(name, n, [run for run in runs if run[0] == n], said.level, self._shared(who))
                for n in sizes
            ]
            told = None
            if said.measure == "kind" and len(who) == 1:
                counts = np.sum([counts for _, counts in mine], axis=0)
                total = int(counts.sum())
                told = Told(name, *(Share.counted(int(count), total) for count in counts))
            found.append(_Simulated(tuple(cells), told))
        return found

    def _shared(self, kinds: Sequence[Assumption]) -> float:
        """Variance of z-values that simulations share, because they draw people from one bank.

        A bank of D people at a place has a mean that is off by 1/D of their variance; so are the
        means of several kinds, each by its squared share. Arms without a tutor have no bank.
        """
        compared = self.study.configuration.analysis.compare
        tutored = [arm.is_adaptive for arm in self.arms if arm.name in compared]
        shares = np.array([kind.weight for kind in kinds])
        shares /= shares.sum()
        return float(np.mean(tutored) * np.sum(shares**2) / DRAWS)


# Simulations for `check`: enough to see a test that takes noise for an effect.
_CHECKED = 20


def noise_in_words(study: Study, arms: Sequence[Arm]) -> str:
    """What the registered analysis would find if everybody answered at random, in one sentence."""
    made = tuple(arms)
    run = _Simulations(study, made, _CHECKED, seed=0)
    if run.is_tutored:
        return "`preceptor study power` reports what random answers would yield."
    people = max(study.configuration.people // len(made), 2)
    (found,) = run.of([("random answers", (noise(study),))], [people])
    return _noise_sentence(found.cells[0], study.configuration.analysis.level, found.told)


def _noise_sentence(cell: Cell, level: float, told: Told | None) -> str:
    hits = round(cell.power.share * cell.power.of)
    text = (
        f"If everybody answered at random: p below {level:g} in {hits} of {cell.power.of} "
        f"simulated studies with {cell.people} people per arm (95% interval {cell.power.low:.3f} "
        f"to {cell.power.high:.3f}); {cell.excluded:.0%} of people excluded"
    )
    if told is not None:
        text += f"; neither kind: {told.unrelated.share:.0%}, a kind: "
        text += f"{told.outcomes.share + told.others.share:.1%}"
    return f"{text}."


def _simulated(
    item: tuple[int, int, int],
    stages: list[SimulatedStudy],
    groups: list[tuple[Assumption, ...]],
    sizes: list[int],
    seed: int,
) -> tuple[list[_Run], IntArray]:
    """Some simulations of one group: measured together, then analysed study by study.

    Returns a row for each simulation and size, and how many people have which verdict.
    """
    which, first, last = item
    stage, kinds = stages[which], groups[which]
    study = stage.study
    said = study.configuration.analysis
    crowds = []
    for number in range(first, last):
        key = (Chance.SIMULATED, which, number)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
        crowds.append((recruited(stage, kinds, sizes[-1], rng), rng))
    # Measuring many people at once costs little more than measuring one.
    parts = [played(stage, kinds, recruits, rng) for recruits, rng in crowds]
    everyone = concatenate(parts)
    all_numbers = MEASURES[said.measure](study, everyone)
    all_reasons = exclusion_reasons(study, everyone, all_numbers)
    runs, told, at = [], np.zeros(4, dtype=int), 0
    for (recruits, rng), records in zip(crowds, parts, strict=True):
        # Each has its own permutations: shared ones would have shared errors.
        chance = int(rng.integers(2**31))
        mine = slice(at, at + len(records))
        why, numbers, at = all_reasons[mine], all_numbers[mine], at + len(records)
        for size in sizes:
            until = recruits.until(size * len(stage.arms), stage.trials)
            rows = np.arange(until)
            part = run_registered_test(
                study, records.of(rows), numbers[rows], why[:until], _RESAMPLES, chance
            )
            share_out = sum(map(bool, why[:until])) / until
            runs.append((size, part.p, part.effect, part.effect_deviation, share_out))
        if said.measure == "kind":
            told += _told(records, numbers, why)
    return runs, told


def _told(records: Records, numbers: FloatArray, why: Sequence[str]) -> IntArray:
    """Verdicts: from outcomes, not from outcomes, neither, undecided.

    Of people who are analysed, or would be if their answers depended on the tests.
    """
    rows = np.array([reason in ("", UNRELATED) for reason in why])
    found = KindCounts.of(numbers[rows], unrelated_probability(records)[rows])
    return np.array([found.outcomes, found.others, found.unrelated, found.undecided])


def _cell(name: str, size: int, runs: Sequence[_Run], level: float, shared: float = 0.0) -> Cell:
    table = np.array([run[1:] for run in runs])  # p, effect, deviation, excluded
    there = np.isfinite(table)
    sums = np.where(there, table, 0.0).sum(axis=0)
    count = there.sum(axis=0)
    means = np.where(count > 0, sums / np.maximum(count, 1), np.nan)
    hits = int((table[there[:, 0], 0] < level).sum())
    effect, deviation, excluded = (float(x) for x in means[1:])
    # Not the mean of standardised effects, which may differ in sign from the mean effect.
    standardised = effect / deviation if deviation > 0.0 else math.nan
    failed = int((~there[:, 0]).sum())
    # A test that could not be carried out counts as not significant.
    power = Share.counted(hits, len(runs), shared)
    return Cell(name, size, power, effect, standardised, excluded, failed)


_MARKERS = "osD^vP*X"


def in_words(found: Power) -> str:
    """The power analysis as text for the terminal: a table, and how many people are needed."""
    many = counted(found.simulations, "simulation")
    lines = [
        f"Measure: {found.measure}; power at level {found.level:g}, by {many} each (seed "
        f"{found.seed}), with 95% intervals for their number."
    ]
    wide = max(len("kind"), *(len(cell.kind) for cell in found.cells))
    head = f"{'kind':<{wide}}  people per arm  power                  effect   in sd   excluded"
    lines += ["", head]
    for cell in found.cells:
        lines.append(
            f"{cell.kind:<{wide}}  {cell.people:>14}  {_share(cell.power):<21} "
            f"{cell.effect:>8.3g}  {_in_deviations(cell.standardised):>6}  {cell.excluded:>8.0%}"
        )
    if found.told:
        wide = max(wide, *(len(each.kind) for each in found.told))
        lines += ["", "How people are classified, at a probability of 0.9 (neither: "
                  f"{UNRELATED}):"]  # fmt: skip
        heads = ("from outcomes", "not from outcomes", "neither", "undecided")
        lines.append("  ".join([f"{'kind':<{wide}}", *(f"{head:<19}" for head in heads)]).rstrip())
        for each in found.told:
            shares = (each.outcomes, each.others, each.unrelated, each.undecided)
            cells = [f"{_share(share, 2):<19}" for share in shares]
            lines.append("  ".join([f"{each.kind:<{wide}}", *cells]).rstrip())
    lines += ["", *needed_in_words(found)]
    random = next((each for each in found.told if each.kind == found.noise[-1].kind), None)
    lines.append(_noise_sentence(found.noise[-1], found.level, random))
    return "\n".join([*lines, *(f"Note: {each}" for each in _notes(found))])


def needed_in_words(found: Power) -> list[str]:
    """A sentence for each kind: how many people per arm the target needs."""
    lines = []
    for kind in dict.fromkeys(cell.kind for cell in found.cells):
        people, goal = found.needed(kind), f"a power of {found.target:g}"
        if people is None:
            lines.append(f"{kind}: none of these sizes reaches {goal}; simulate larger ones.")
        else:
            lines.append(
                f"{kind}: {people} people per arm reach {goal}; no smaller size tried did."
            )
    return lines


def _notes(found: Power) -> list[str]:
    notes = []
    for cell in found.cells:
        if cell.failed:
            notes.append(
                f"{cell.kind}, {cell.people} per arm: the test could not be carried out in "
                f"{cell.failed} of {cell.power.of} simulations, which count as not significant."
            )
    if found.told:
        notes.append(
            "With one arm, power is that of a sign test among people whose kind is decided, of "
            "whom there must be more than random answers give; the effect is their share who learn "
            "from outcomes."
        )
    if found.tutored:
        notes.append(
            f"People with a tutor were drawn from a bank of {DRAWS} of every kind at every place, "
            "which intervals take into account."
        )
    return notes


def _in_deviations(effect: float) -> str:
    return "-" if math.isnan(effect) else f"{effect:.2f}"


def _share(share: Share, digits: int = 3) -> str:
    if math.isnan(share.share):
        return "-"
    said = [f"{each:.{digits}f}" for each in (share.share, share.low, share.high)]
    return f"{said[0]} ({said[1]} to {said[2]})"


def plot(found: Power) -> Figure:
    """Plot power against people per arm, a line for each kind, with intervals.

    Raises
    ------
    MissingExtra
        matplotlib is not installed.
    """
    figure = figure_class()(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(found.target, color=GREY, linewidth=1.0, linestyle="dotted")
    axes.axhline(found.level, color=GREY, linewidth=1.0, linestyle="dotted")
    for i, kind in enumerate(dict.fromkeys(cell.kind for cell in found.cells)):
        cells = [cell for cell in found.cells if cell.kind == kind]
        share = [cell.power.share for cell in cells]
        below = [cell.power.share - cell.power.low for cell in cells]
        above = [cell.power.high - cell.power.share for cell in cells]
        axes.errorbar(
            [cell.people for cell in cells],
            share,
            yerr=[below, above],
            label=kind,
            color=OKABE_ITO[i % len(OKABE_ITO)],
            linestyle=DASHES[i % len(DASHES)],
            marker=_MARKERS[i % len(_MARKERS)],
            capsize=3,
        )
    axes.set(xlabel="people per arm", ylabel="power", ylim=(-0.02, 1.02))
    axes.set_title(f"{found.measure}: target {found.target:g}, level {found.level:g}", fontsize=10)
    axes.legend(frameon=False)
    return figure
