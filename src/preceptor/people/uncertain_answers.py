"""What is expected of people who learn from yes and no by the delta rule.

After S is shown and y is heard, weights move by rate x (y - chance) x result. With Gaussian tests,
w what shown tests weigh for the person and vp = w'Vw, Stein's lemma gives

    E[x_S (y - chance)] = κ1 γ - κ2(vp) V w,
    κ1 = φ(b/su)/su,  su² = 1 + vt,       κ2 = φ(b̂/sq)/sq,  sq² = 1 + vp

for the probit; the logistic link is a mixture of probits, and so are its κ1 and κ2. That is a
linear delta rule whose pace and target depend on how much the score varies. Cases differ from
person to person, so weights do: their mean and their covariance C are followed. Averages over
people are taken at points that are right up to third moments; C moves by the mean slope of the map
(statistical linearisation), and a surprise scatters by E[(y - chance)²] V, in which the fourth
moments of tests and surprise are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.links import Link
from preceptor.model.sets import SetFamily
from preceptor.model.surfaces import believed_base, surface_of
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Brier, YesNoRisk
from preceptor.people.expected import positions_of
from preceptor.people.first_order_walk import Stepwise
from preceptor.people.scores import scores_of

if TYPE_CHECKING:
    from preceptor.people.delta_rule import DeltaRule

# Places at which κ2 is tabulated: errors between them are below 1e-7.
_PLACES = 4_001


class UncertainAnswers(Stepwise):
    """`Expected` of delta-rule people in a yes-or-no world: approximate, prices first order.

    Parameters
    ----------
    person
        Without capped surprises.
    world
        With an outcome that is yes or no.
    sets
        What may be shown.
    risk
        How answers come out of scores, and what they cost; plug-in answers only.
    """

    exact: bool = False
    guesses: bool = True

    def __init__(self, person: DeltaRule, world: World, sets: SetFamily, risk: YesNoRisk) -> None:
        assert world.outcome is not None
        self.sets = sets
        self.accuracy = (
            "What cases do to people who learn from yes and no is averaged over people: costs of "
            "random problems came out up to 7 % off those of simulated people."
        )
        self._person = person
        self._truth = world.coefficients
        self._scores = scores_of(world, sets, person.imputing_covariance(world), risk)
        link, believed = world.outcome.from_score, believed_base(world, risk)
        squared = surface_of(world, Brier(believed_prevalence=risk.believed_prevalence)).compiled
        pull = float(mean_density(link, world.base_score, np.array(world.score_variance))[0])
        self._arrays: Any = (
            pull, person.all_weights, person.leak, np.array(person.leaks_to),
            _tabulated(link, believed), squared.numbers, squared.surface, *self._scores.arrays,
        )  # fmt: skip
        size = world.size
        self.start = np.concatenate([person.initial, np.zeros(size * size)])

    def rates(self, first: int, rounds: int) -> FloatArray:
        """Size of steps in rounds first, first + 1, ..."""
        person = self._person
        since = 1.0 + person.rounds + first
        return np.asarray(person.rate * (since + np.arange(rounds)) ** -person.decay)

    def floors(self) -> FloatArray:
        """What the best reader of each set is charged, price included."""
        return self._scores.floors()

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Truth minus expected weight before each round, shape (rounds, n)."""
        states = self.play(self.start, positions_of(schedule), 0)[1]
        return np.asarray(self._truth - states[:-1, : self._truth.size])

    # --- what the walk asks ---

    def play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Losses along a path from a state, and the states before and after all its rounds."""
        from preceptor.people._belief_kernels import play_beliefs

        states, losses = np.empty((path.size + 1, state.size)), np.empty(path.size)
        states[0] = state
        play_beliefs(path, self.rates(first, path.size), states, losses, *self._arrays)
        return losses, states

    def adjoints(
        self, states: FloatArray, path: IntArray, first: int, end: FloatArray, discount: float
    ) -> FloatArray:
        """Slopes of what is left of the cost (rounds + 1, ...), per unit of state."""
        from preceptor.people._belief_slope_kernels import back_beliefs

        out = np.empty(states.shape)
        out[-1] = end
        back_beliefs(path, self.rates(first, path.size), states, out, discount, *self._arrays)
        return out

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Each set's loss in round t, and to first order what it makes of later rounds."""
        from preceptor.people._belief_slope_kernels import belief_prices

        out = np.empty(positions.size)
        rate = float(self.rates(t, 1)[0])
        belief_prices(positions, state, rate, adjoint, discount, out, *self._arrays)
        return out


def mean_density(link: Link, base: float, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E of the density of chance at a score with this mean and variance: κ1, and κ2 at vp.

    Parameters
    ----------
    link
        How scores become probabilities.
    base
        Mean of the score.
    variance
        Its variance, any shape.

    Returns
    -------
    tuple of array
        How much the chance of yes rises per unit of score, on average; and how much that changes
        per unit of variance.
    """
    value, slope = np.zeros((2, *np.shape(variance)))
    for weight, scale in zip(link.weights, link.scales, strict=True):
        square = scale * scale + variance
        height = weight * np.exp(-0.5 * base**2 / square) / np.sqrt(2.0 * np.pi * square)
        value = value + height
        slope = slope + height * 0.5 * (base**2 / square - 1.0) / square
    return np.asarray(value), np.asarray(slope)


def _tabulated(link: Link, base: float) -> FloatArray:
    """κ2 and its slope per unit of variance (2, places), over s/(1 + s)."""
    place = np.minimum(np.linspace(0.0, 1.0, _PLACES), 1.0 - 1e-9)
    return np.stack(mean_density(link, base, (place / (1.0 - place)) ** 2))
