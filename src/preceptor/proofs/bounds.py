"""Methods to prove a lower bound again, tried in order until the claim is reached.

All of them start from the problem alone. What a plan says about how its bound was found (a
certificate, the length of a truncated plan, the counts of a lattice) is a hint where to look, and a
wrong hint can only make the proof fall short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from preceptor._base.numerics import total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.certificate import Certificate
from preceptor.model.count_policy import CountPolicy
from preceptor.model.policies import Policy
from preceptor.model.problem import Problem
from preceptor.people.coordinatewise import NoLearning
from preceptor.people.own_person import OwnPerson
from preceptor.proofs.bellman import Counted, TooManyStates, box_bound, box_caps, finite_bound
from preceptor.proofs.dual import Potentials, beam_again, prove
from preceptor.proofs.floors import in_parts, instant_bound, least_round, uncorrelated_bound
from preceptor.proofs.losses import MOST_NUMBERS, ProvenBound, ReferenceLosses
from preceptor.proofs.slow_value import slow_loss

# Numbers of states of boxes, and lengths in rounds, that are tried without a hint.
_BOXES = [MOST_NUMBERS // 16**k for k in (3, 2, 1)]
_LENGTHS = [4**k for k in range(1, 6)]
_INSTANTLY = "floors of all sets and bounds of every single round computed again"
# Methods whose bounds take no search.
_INSTANT = ("stationary", "independent", "beam", "search")
# Kinds of bounds for people of a crowd that take no search either.
INSTANT_KINDS = (
    "nothing is learned, so the best fixed set is best",
    "instant bound",
    "floor of every case",
)
# States in which tabulated losses are compared with brute force.
_COMPARED = 40


@dataclass(frozen=True)
class Hints:
    """What a plan says about how its bound was found. (A `Plan` itself reaches the solvers.)"""

    method: str
    policy: Policy
    options: Mapping[str, Any]
    certificate: Certificate | None


def prove_bound(
    problem: Problem, claimed: float, value: float, hints: Hints, slack: float, also: float
) -> ProvenBound:
    """Return the best bound proven; stops when `claimed` is reached.

    The claim must not exceed the policy's `value` by more than the share `slack` plus `also`.
    """
    if not claimed <= value + slack * abs(value) + also:
        return ProvenBound(-np.inf, "it exceeds the policy's own cost", fault="above the value")
    if not _can_be_listed(problem):
        return _of_many_sets(problem, claimed, slack)
    losses = ReferenceLosses.of(problem)
    best = ProvenBound(-np.inf, "nothing was proven")
    rounding = losses.slack * total_weight(problem.discount, problem.horizon)
    missed = ""
    for attempt in _attempts(losses, hints, value, slack):
        try:
            found = attempt()
        except TooManyStates as error:
            missed = f"{error} are too many to be checked in minutes"
            continue
        if found.fault:
            return found
        if found.bound > best.bound:
            best = found
        if best.bound >= claimed - slack * abs(claimed) - rounding:
            break
    else:
        if missed:
            best = ProvenBound(best.bound, f"{best.how}; NOT CHECKED beyond that: {missed}")
    if losses.assumed:
        best = ProvenBound(best.bound, f"{best.how}; {losses.assumed}")
    if losses.shared:
        best = _with_shared(losses, best)
    return replace(best, rounding=rounding)


def _of_many_sets(problem: Problem, claimed: float, slack: float) -> ProvenBound:
    """Floors of all sets; where these are not enough, instant bounds in batches."""
    floor, how = least_round(problem)
    found = ProvenBound(floor * total_weight(problem.discount, problem.horizon), how)
    count = problem.budget.count(problem.size)
    enough = found.bound >= claimed - slack * abs(claimed)
    # Most sets that are checked in batches.
    if enough or count > 1_000_000 or problem.loss.kind != "closed-form":
        return found
    bound = instant_bound(problem, in_parts(problem))
    if bound <= found.bound:
        return found
    return ProvenBound(bound, f"{_INSTANTLY}, over all {count:,} sets")


def _can_be_listed(problem: Problem) -> bool:
    count = problem.budget.count(problem.size)
    widest = len(problem.budget.maximise(np.ones(problem.size)))
    return count * widest * problem.size <= MOST_NUMBERS


def _with_shared(losses: ReferenceLosses, best: ProvenBound) -> ProvenBound:
    """Say what was not independent; compare tabulated losses with brute force."""
    said = losses.shared
    if losses.problem.is_binary:
        off = table_off(losses)
        if off > 0.0:
            fault = f"tabulated losses are off by {off:.3g} more than stated"
            return ProvenBound(-np.inf, fault, independent=False, fault=fault)
        said += f", which agree with brute force in {_COMPARED} states drawn at random"
    return ProvenBound(best.bound, f"{best.how}, {said}", independent=False)


def table_off(losses: ReferenceLosses) -> float:
    """By how much tabulated losses differ from integrals beyond their stated accuracy."""
    problem = losses.problem
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(_COMPARED):
        row = int(rng.integers(len(losses.sets)))
        errors = losses.first_errors * rng.uniform(0.0, 1.0, problem.size)
        beliefs = problem.world.coefficients - errors
        apart = abs(
            float(losses.losses(row, errors[None, :])[0])
            - slow_loss(problem, beliefs, losses.sets[row])
        )
        worst = max(worst, apart - problem.oracle.accuracy - 1e-9 * losses.scale)
    return worst


Attempt = Callable[[], ProvenBound]


def _attempts(
    losses: ReferenceLosses, hints: Hints, value: float, slack: float
) -> Iterator[Attempt]:
    """A certificate first, since it must hold; then the cheapest methods."""
    if hints.certificate is not None:
        yield partial(_by_certificate, losses, hints, hints.certificate, value, slack)
    yield lambda: ProvenBound(instant_bound(losses.problem, [losses]), _INSTANTLY)
    yield lambda: ProvenBound(
        uncorrelated_bound(losses), "tests are uncorrelated: least sum of scores computed again"
    )
    if hints.method in _INSTANT:
        return
    if losses.problem.horizon is None:
        yield from _endless_attempts(losses, hints)
    if hints.method != "lattice":
        yield from _finite_attempts(losses, hints)


def _finite_attempts(losses: ReferenceLosses, hints: Hints) -> Iterator[Attempt]:
    horizon = losses.problem.horizon
    lengths = [length for length in _LENGTHS if horizon is None or length < horizon]
    hinted = hints.options.get("length")
    if horizon is not None:
        lengths = [horizon] if hints.method == "finite" else [horizon, *lengths]
    if isinstance(hinted, int) and hinted >= 1:
        lengths = [hinted if horizon is None else min(hinted, horizon)]
    yield from (partial(finite_bound, losses, length) for length in lengths)


def _endless_attempts(losses: ReferenceLosses, hints: Hints) -> Iterator[Attempt]:
    if hints.method == "truncated":
        return
    if isinstance(hints.policy, CountPolicy):
        yield partial(box_bound, losses, _caps_of(losses, hints.policy.shape))
    # Beyond the edge of a box the argument differs from the solver's, so a larger box may be
    # needed.
    for states in _BOXES[:2] if hints.method == "lattice" else _BOXES:
        yield partial(box_bound, losses, box_caps(losses, states))


def _caps_of(losses: ReferenceLosses, shape: tuple[int, ...]) -> IntArray:
    counted = Counted.of(losses)
    caps = np.ones(counted.dimensions, dtype=np.int64)
    for test, place in enumerate(counted.place):
        if place >= 0 and test < len(shape):
            caps[place] = max(caps[place], shape[test] - 1)
    return caps


def _by_certificate(
    losses: ReferenceLosses, hints: Hints, certificate: Certificate, value: float, slack: float
) -> ProvenBound:
    """What the potentials of a dual certificate prove, and the beam that they guide."""

    def fails(fault: str) -> ProvenBound:
        return ProvenBound(-np.inf, f"dual certificate FAILS: {fault}", fault=fault)

    potentials = Potentials(losses, certificate)
    fault = potentials.faults()
    if fault or not losses.is_convex:
        return fails(fault or "it requires convex losses, which these are not")
    claimed, allowed = certificate.round_minima, slack * losses.scale
    proof = prove(potentials, losses, claimed - 0.1 * allowed, _path(losses, hints.policy, 3_000))
    short = claimed - proof.minima
    if short.max() > allowed:
        return fails(f"round {int(short.argmax())} falls short by {short.max():.3g}")
    dual, beam = certificate.dual_bound, certificate.beam_bound
    if dual > proof.value + slack * abs(dual):
        return fails(f"it claims {dual:.10g}, but proves {proof.value:.10g}")
    how = f"dual certificate: {proof.in_words()}"
    if not certificate.beam_layers or beam <= proof.value + slack * abs(proof.value):
        return ProvenBound(proof.value, how)
    width, layers = int(certificate.beam_width), int(certificate.beam_layers)
    if width < 1 or layers < 0:
        return fails(f"a beam of width {width} over {layers} layers is none")
    walked = beam_again(proof, potentials, losses, value, width, layers)
    if beam > walked + slack * abs(beam):
        return fails(f"its beam claims {beam:.10g}, but proves {walked:.10g}")
    return ProvenBound(
        max(proof.value, walked),
        f"{how}; beam of at most {width:,} states walked again over "
        f"{min(layers, potentials.length):,} rounds",
    )


def _path(losses: ReferenceLosses, policy: Policy, rounds: int) -> FloatArray:
    """Errors (rounds, n) of a person who follows the policy."""
    rounds = min(rounds, losses.problem.horizon or rounds)
    shown = np.zeros((rounds, losses.problem.size), dtype=np.int64)
    for t, tests in enumerate(policy.schedule(rounds)):
        shown[t, list(tests)] = 1
    counts = np.cumsum(shown, axis=0) - shown
    table = losses.errors_after(range(rounds + 1))
    return np.asarray(table[np.arange(losses.problem.size), counts])


def people_bound(problem: Problem) -> tuple[float, str]:
    """Lower bound on every plan for one person, by methods that apply to all kinds."""
    weight = total_weight(problem.discount, problem.horizon)
    if not _can_be_listed(problem) or isinstance(problem.learner, OwnPerson):
        floor, how = least_round(problem)
        return floor * weight, how
    losses = ReferenceLosses.of(problem)
    if problem.learner.kind == NoLearning.kind:
        first = [
            float(losses.losses(row, problem.initial_errors[None, :])[0])
            for row in range(len(losses.sets))
        ]
        return (min(first) - losses.slack) * weight, "cheapest set, since the person does not learn"
    return instant_bound(problem, [losses]), _INSTANTLY
