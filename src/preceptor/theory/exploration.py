"""From which round on an optimal policy has certainly stopped exploring.

**Theorem (eventually stationary).** Let R be the tests that an optimal policy of the endless
problem shows infinitely often. From some round on it shows only minimisers of the tail loss
(`theory.tail`) among the allowed subsets of R; if there is one minimiser, it has committed.

The proof gives a round. Suppose that in round t, when only tests of R are shown any more, the
policy showed a set that is no minimiser. Showing a minimiser instead, and nothing else changed,
would gain at least γ - 2ε_t in that round and lose at most 2kδ/(1-δ)·L·η_t later, with

- γ the distance from the least tail loss to the next one that is no minimiser (`margin`),
- ε_t how far losses in round t still are from tail losses (`deviation`),
- η_t the largest step that a recurrent coefficient can still make in one showing (`step`),
- L a Lipschitz constant of the loss in the coefficients (1-norm).

So from the first round after which 2ε_t + 2kδ/(1-δ)·L·η_t < γ stays true, an optimal policy shows
minimisers only. This is sufficient, not sharp: exploration may well end much earlier.

"Stays true" is proven here, not looked up in a window: `late_rounds.py` bounds ε_t by an envelope
that never grows, so that once the inequality holds with it, it holds forever. Between T_R and that
round the exact ε_t is looked at.

The theorem asks of losses only that they are Lipschitz in beliefs (`regularity.py`), so this serves
any risk of which that is known, any distribution of the tests, any imputation and every curve that
tends to somewhere. For squared error the paper's constant is L = 4B max_S ‖M_S‖_∞, where B bounds
all coefficients and beliefs; ours looks at what is left of the errors in round t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import NotApplicable
from preceptor.evaluation.long_run import tail_minimisers
from preceptor.model.sets import TestSet
from preceptor.policies import Policy
from preceptor.problem import Problem
from preceptor.theory.late_rounds import Tail, tail_of


@dataclass(frozen=True)
class ExplorationTerms:
    """Both sides of the proof's inequality in given rounds; every array has shape (rounds,).

    Attributes
    ----------
    rounds
        The rounds t.
    deviation
        ε_t: how far losses still are from tail losses.
    envelope
        A bound on ε_t that never grows.
    step
        η_t: the largest step that a recurrent weight can still make in one showing.
    lipschitz
        Our L_t.
    required
        2ε_t + 2kδ/(1-δ)·L_t·η_t, to be compared with the margin γ.
    required_envelope
        The same with the envelope for ε_t.
    required_paper
        `required` with the paper's constant for L.
    required_envelope_paper
        `required_envelope` with the paper's constant for L.
    """

    rounds: IntArray
    deviation: FloatArray
    envelope: FloatArray
    step: FloatArray
    lipschitz: FloatArray
    required: FloatArray
    required_envelope: FloatArray
    required_paper: FloatArray
    required_envelope_paper: FloatArray


@dataclass(frozen=True)
class ExplorationCertificate:
    """From which round on an optimal policy that looks like this one has stopped exploring.

    Attributes
    ----------
    recurrent
        Tests shown infinitely often.
    settled
        From this round on only they are shown.
    frozen
        How often every other test is ever shown.
    tail_losses
        Tail losses of the allowed subsets of `recurrent`.
    minimisers
        The subsets whose tail loss is smallest.
    margin
        γ, or None if every such subset is a minimiser.
    lipschitz
        Our constant in round `settled`.
    lipschitz_paper
        The paper's constant; for other losses than the paper's, that of `regular_loss`.
    round
        The certified round with our constant, None if there is none below 2^40.
    round_paper
        The certified round with the paper's constant.
    improvable
        The policy shows sets at or after `round` that are no minimisers, so it is certainly not
        optimal.
    """

    recurrent: tuple[int, ...]
    settled: int
    frozen: dict[int, int]
    tail_losses: dict[TestSet, float]
    minimisers: tuple[TestSet, ...]
    margin: float | None
    lipschitz: float
    lipschitz_paper: float
    round: int | None
    round_paper: int | None
    improvable: bool


def exploration_certificate(
    problem: Problem, policy: Policy, slope: float | None = None
) -> ExplorationCertificate:
    """Evaluate the proof's inequality along a policy of an endless problem.

    The theorem speaks of optimal policies; long plans stand in for them. For every risk with a
    Lipschitz constant within reach (`regular_loss`), on tests of any kind; tightest for squared
    error in closed form with a person who knows the correlations.

    Along a plan that commits, only the tests of its last set recur, so `settled` is already the
    last round in which the plan shows anything else; with a budget of exactly k tests nothing is
    left to certify after it. To see what the inequality says before a plan is known, as long as
    every test recurs, give `Alternating` over all sets.

    Parameters
    ----------
    problem
        An endless problem.
    policy
        One that commits, or goes round a cycle.
    slope
        Largest slope of a risk of one's own, where it is known. Otherwise a `ResidualRisk` is
        looked at on a grid, and the certificate is as good as that.

    Returns
    -------
    ExplorationCertificate
        The certified round, and what it was worked out from.

    Raises
    ------
    NotApplicable
        The theorem does not cover this problem or this policy.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, discount=0.95)
    >>> plan = pr.solve(problem)
    >>> certificate = exploration_certificate(problem, plan.policy)
    >>> certificate.minimisers, plan.exploration_length <= certificate.round
    (((0,),), True)
    """
    tail = _checked(problem, policy, slope)
    minimisers = tuple(tail_minimisers(problem, tail.losses))
    least = min(tail.losses.values())
    distances = [loss - least for shown, loss in tail.losses.items() if shown not in minimisers]
    margin = min(distances) if distances else None
    certified = tail.certified_round(margin, tail.lipschitz)
    return ExplorationCertificate(
        recurrent=tuple(tail.recurrent),
        settled=tail.settled,
        frozen={i: int(tail.frozen[i]) for i in range(problem.size) if i not in tail.recurrent},
        tail_losses=tail.losses,
        minimisers=minimisers,
        margin=margin,
        lipschitz=float(tail.lipschitz(tail.errors_at([tail.settled]))[0]),
        lipschitz_paper=tail.lipschitz_paper,
        round=certified,
        round_paper=tail.certified_round(margin, tail.constant_lipschitz),
        improvable=certified is not None and tail.shows_other(minimisers, certified),
    )


def exploration_terms(
    problem: Problem, policy: Policy, rounds: npt.ArrayLike, slope: float | None = None
) -> ExplorationTerms:
    """The quantities of the proof in given rounds.

    Parameters
    ----------
    problem
        An endless problem.
    policy
        One that commits, or goes round a cycle.
    rounds
        Rounds to look at, none of them before the policy has settled.
    slope
        Largest slope of a risk of one's own, where it is known.

    Returns
    -------
    ExplorationTerms
        One entry for each round.

    Raises
    ------
    NotApplicable
        The theorem does not cover this problem, this policy or these rounds.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, discount=0.95)
    >>> terms = exploration_terms(problem, pr.Stationary((0,)), range(3))
    >>> bool(terms.step[1] < terms.step[0])
    True
    """
    tail = _checked(problem, policy, slope)
    times = np.asarray(rounds, dtype=np.int64)
    if times.size and times.min() < tail.settled:
        raise NotApplicable(
            f"exploration: round {times.min()} was asked for, but the inequality is about rounds "
            f"from {tail.settled} on, where only recurrent tests are shown"
        )
    errors = tail.errors_at(times)
    deviation, envelope = tail.deviation(errors), tail.envelope(errors)
    step = tail.step(times)
    ours, paper = tail.lipschitz(errors), tail.constant_lipschitz(errors)
    return ExplorationTerms(
        rounds=times,
        deviation=deviation,
        envelope=envelope,
        step=step,
        lipschitz=ours,
        required=2.0 * deviation + tail.weight * ours * step,
        required_envelope=2.0 * envelope + tail.weight * ours * step,
        required_paper=2.0 * deviation + tail.weight * paper * step,
        required_envelope_paper=2.0 * envelope + tail.weight * paper * step,
    )


def _checked(problem: Problem, policy: Policy, slope: float | None) -> Tail:
    if problem.horizon is not None:
        raise NotApplicable(
            f"exploration: the horizon is {problem.horizon} rounds, but the theorem is about "
            "endless problems; give problem.replace(horizon=None) and a long plan's policy"
        )
    return tail_of(problem, policy, slope)
