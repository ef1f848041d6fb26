"""Who somebody is, by their answers: a posterior over kinds and ways to fill in, and a shift D.

Exact: first weights, a constant and a level are integrated out, the scatter is summed over a grid
(`likelihoods.py`), and every member of the crowd is one hypothesis. Beside it stands a statistic
that needs no model: D, the slope on the taught test in the last probes less that in the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, Value
from preceptor._base.words import counted, listed
from preceptor.diagnosis.likelihoods import Prior, log_evidence
from preceptor.diagnosis.suspects import fills_in, group_of, shares
from preceptor.evidence.lockstep import Rounds, played
from preceptor.model.world import World
from preceptor.people.crowd import Crowd

# From this probability on, somebody is said to be of a kind.
SURE = 0.9


def posterior_over(world: World, people: Crowd, rounds: Rounds, prior: Prior) -> FloatArray:
    """Probability of every member of a crowd (..., members), given the answers."""
    logs = [log_evidence(world, m.person, rounds, prior) for m in people.members]
    evidence = np.stack(logs, axis=-2) + np.log(prior.weights)
    most = evidence.max(axis=(-1, -2), keepdims=True)
    by_member = np.exp(evidence - most).sum(axis=-1) * people.weights
    posterior: FloatArray = by_member / by_member.sum(axis=-1, keepdims=True)
    return posterior


def labels_of(world: World, people: Crowd) -> tuple[list[str | None], list[str | None]]:
    """The group of every member, and how they fill in."""
    members = [member.person for member in people.members]
    return [group_of(world, person) for person in members], [fills_in(p) for p in members]


def slope_change(rounds: Rounds) -> FloatArray:
    """D (...): slope on the first taught test, shown alone in probes, after teaching less before.

    NaN where it was not probed alone at two values both before and after.
    """
    blank: FloatArray = np.full(rounds.answers.shape[:-1], np.nan)
    told = np.flatnonzero(rounds.told)
    if not told.size:
        return blank
    weak = rounds.shown[told[0]]
    alone = np.all(rounds.shown == weak, axis=1) & ~rounds.told
    time = np.arange(len(rounds))
    slopes = []
    for rows in (alone & (time < told[0]), alone & (time > told[-1])):
        if np.count_nonzero(rows) < 2:
            return blank
        x = rounds.values[..., rows, :][..., np.flatnonzero(weak)[0]]
        x = x - x.mean(axis=-1, keepdims=True)
        square = np.sum(x * x, axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes.append(np.sum(x * rounds.answers[..., rows], axis=-1) / square)
    change: FloatArray = slopes[1] - slopes[0]
    return np.where(np.isfinite(change), change, np.nan)


def expected_changes(
    world: World, people: Crowd, rounds: Rounds, groups: Sequence[str | None]
) -> dict[str, float]:
    """Average D of each group over these cases, by people who answer without scatter."""
    members = [slope_change(played(world, m.person, rounds)).mean() for m in people.members]
    weights = people.weights
    return {
        group: float(np.average(np.array(members)[where], weights=weights[where]))
        for group in dict.fromkeys(g for g in groups if g is not None)
        if (where := np.array([g == group for g in groups])).any()
    }


@dataclass(frozen=True, eq=False)
class PersonReading(Value):
    """What is known about one person: probabilities of groups, of ways to fill in, of members; D.

    `change` is None where the record does not allow it.
    """

    name: str
    groups: dict[str, float]
    fills: dict[str, float]
    members: dict[str, float]
    rounds: int
    change: float | None = None

    @property
    def group(self) -> str | None:
        """The group with a probability of at least 0.9, if there is one."""
        name, share = max(self.groups.items(), key=lambda item: item[1])
        return name if share >= SURE else None

    def in_words(self) -> str:
        """One line."""
        parts = [f"{group} {share:.2f}" for group, share in self.groups.items()]
        fills = [f"{how} {share:.2f}" for how, share in self.fills.items()]
        verdict = f"{self.group}" if self.group is not None else "not decided"
        text = f"{self.name}: {verdict} ({', '.join(parts)}"
        return f"{text}; {', '.join(fills)})" if fills else f"{text})"


@dataclass(frozen=True, eq=False)
class Reading(Value):
    """What a log says about the kind of everybody in it.

    Attributes
    ----------
    people
        One reading for each person.
    expected
        The average change D of the slope on the taught test, group by group.
    doubts
        What to be wary of, in sentences.
    """

    people: tuple[PersonReading, ...]
    expected: dict[str, float]
    doubts: tuple[str, ...] = ()

    @property
    def change(self) -> tuple[float, float] | None:
        """Average D of the people and its standard error (NaN for one person), if it is known."""
        found = np.array([p.change for p in self.people if p.change is not None])
        if not found.size:
            return None
        error = found.std(ddof=1) / np.sqrt(found.size) if found.size > 1 else np.nan
        return float(found.mean()), float(error)

    def in_words(self) -> str:
        """Everybody's line, the shift D beside what each group would give, and doubts."""
        lines = [person.in_words() for person in self.people]
        if len(self.people) > 1:
            names = list(self.people[0].groups)
            average = [np.mean([p.groups[g] for p in self.people]) for g in names]
            said = listed([f"{a:.2f} {g}" for g, a in zip(names, average, strict=True)])
            lines.append(f"On average over {counted(len(self.people), 'person')}: {said}.")
        change = self.change
        if change is not None and self.expected:
            mean, error = change
            wide = "" if np.isnan(error) else f" ± {error:.2g}"
            told = listed([f"{value:.2g} {group}" for group, value in self.expected.items()])
            lines.append(f"Slope on the taught test rose by {mean:.2g}{wide}; expected: {told}.")
        return "\n".join([*lines, *self.doubts])


def person_readings(
    world: World,
    people: Crowd,
    names: Sequence[str],
    rounds: Rounds,
    prior: Prior,
    labels: tuple[list[str | None], list[str | None]],
) -> list[PersonReading]:
    """The posteriors of people who were shown the same sets, one for each leading position."""
    posterior = posterior_over(world, people, rounds, prior)
    by_group, by_fill = (shares(each, posterior) for each in labels)
    known = np.sum(list(by_fill.values()), axis=0)
    changes = slope_change(rounds)
    return [
        PersonReading(
            name,
            {group: float(share[i]) for group, share in by_group.items()},
            {how: float(share[i] / known[i]) for how, share in by_fill.items() if known[i] > 0},
            dict(zip(people.names, posterior[i].tolist(), strict=True)),
            len(rounds),
            None if np.isnan(changes[i]) else float(changes[i]),
        )
        for i, name in enumerate(names)
    ]
