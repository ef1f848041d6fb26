"""Ways to prove a lower bound again, tried in order until the claim is reached.

All of it is worked out here from the problem. What a plan says about how its bound was found (a
certificate, the length of a truncated plan, the counts of a lattice) is a hint where to look, and a
wrong hint can only make the proof fall short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.certificate import Certificate
from preceptor.people.no_learning import NoLearning
from preceptor.people.own_person import OwnPerson
from preceptor.policies import CountPolicy, Policy
from preceptor.problem import Problem
from preceptor.verification.bellman import (
    Counted,
    TooManyStates,
    box_bound,
    box_caps,
    finite_bound,
)
from preceptor.verification.dual_check import DualProof, beam_again, prove
from preceptor.verification.floors_check import least_round
from preceptor.verification.instant_check import in_parts, instant_bound, uncorrelated_bound
from preceptor.verification.own_losses import MOST_NUMBERS, OwnLosses
from preceptor.verification.potentials import Potentials
from preceptor.verification.slow_value import slow_loss

# Sets of which floors and first deviations are looked at part by part.
_MOST_IN_PARTS = 1_000_000
# States of boxes and lengths in rounds that are tried where nobody says which.
_BOXES = [MOST_NUMBERS // 16**k for k in (3, 2, 1)]
_LENGTHS = [4**k for k in range(1, 6)]
_INSTANTLY = "floors of all sets and bounds of every single round computed again"
# Methods whose bounds cost no search.
_INSTANT = ("stationary", "independent", "beam", "search")
# How bounds of a crowd's people are known that cost no search either.
INSTANT_KINDS = (
    "nothing is learned, so the best fixed set is best",
    "instant bound",
    "floor of every case",
)
# States in which tabulated charges are compared with brute force.
_COMPARED = 40


@dataclass(frozen=True)
class Hints:
    """What a plan says about how its bound was found."""

    method: str
    value: float
    policy: Policy
    options: Mapping[str, Any]
    certificate: Certificate | None


@dataclass(frozen=True)
class Proven:
    """A bound, how it was proven, and whether by code that shares only definitions with solvers.

    `fault` says what is wrong with a certificate; the bound is then -inf, since a plan must not
    carry a certificate that does not hold. `rounding` was taken off the bound, to be on the safe
    side.
    """

    bound: float
    how: str
    independent: bool = True
    fault: str = ""
    rounding: float = 0.0


def prove_bound(
    problem: Problem, claimed: float, hints: Hints, slack: float, also: float = 0.0
) -> Proven:
    """The best bound that could be proven on the way to `claimed`.

    No claim may be above the policy's value by more than that share, and `also`.
    """
    if not claimed <= hints.value + slack * abs(hints.value) + also:
        return Proven(-np.inf, "it is more than the policy itself costs", fault="above the value")
    if not _can_be_listed(problem):
        return _of_many_sets(problem, claimed, slack)
    losses = OwnLosses.of(problem)
    best = Proven(-np.inf, "nothing was proven")
    rounding = losses.slack * total_weight(problem.discount, problem.horizon)
    attempts = _attempts(losses, claimed, hints, slack)
    missed = ""
    for attempt in attempts:
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
            best = Proven(best.bound, f"{best.how}; NOT CHECKED beyond that: {missed}")
    if losses.assumed:
        best = Proven(best.bound, f"{best.how}; {losses.assumed}")
    if losses.shared:
        best = _with_shared(losses, best)
    return replace(best, rounding=rounding)


def _of_many_sets(problem: Problem, claimed: float, slack: float) -> Proven:
    """Floors of all sets; where these are not enough, what they cost part by part."""
    floor, how = least_round(problem)
    found = Proven(floor * total_weight(problem.discount, problem.horizon), how)
    count = problem.budget.count(problem.size)
    enough = found.bound >= claimed - slack * abs(claimed)
    if enough or count > _MOST_IN_PARTS or problem.loss.kind != "closed-form":
        return found
    bound = instant_bound(problem, in_parts(problem))
    if bound <= found.bound:
        return found
    return Proven(bound, f"{_INSTANTLY}, over all {count:,} sets")


def _can_be_listed(problem: Problem) -> bool:
    count = problem.budget.count(problem.size)
    widest = len(problem.budget.maximise(np.ones(problem.size)))
    return count * widest * problem.size <= MOST_NUMBERS


def _with_shared(losses: OwnLosses, best: Proven) -> Proven:
    """Say what was not independent; tabulated charges are compared with brute force."""
    said = losses.shared
    if losses.problem.is_binary:
        off = table_off(losses)
        if off > 0.0:
            fault = f"tabulated charges are off by {off:.3g} more than they say"
            return Proven(-np.inf, fault, independent=False, fault=fault)
        said += f", which agree with brute force in {_COMPARED} states drawn at random"
    return Proven(best.bound, f"{best.how}, {said}", independent=False)


def table_off(losses: OwnLosses) -> float:
    """By how much more than stated tabulated charges differ from integrals; 0 if they do not."""
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


Attempt = Callable[[], Proven]


def _attempts(losses: OwnLosses, claimed: float, hints: Hints, slack: float) -> Iterator[Attempt]:
    """A certificate first, since it must hold; then what costs least."""
    if hints.certificate is not None:
        yield lambda: _by_certificate(losses, hints, _dual(losses, hints, slack), slack)
    yield lambda: Proven(instant_bound(losses.problem, [losses]), _INSTANTLY)
    yield lambda: Proven(
        uncorrelated_bound(losses), "tests are uncorrelated: least sum of scores computed again"
    )
    if hints.method in _INSTANT:
        return
    if losses.problem.horizon is None:
        yield from _endless_attempts(losses, hints)
    if hints.method != "lattice":
        yield from _finite_attempts(losses, hints)


def _finite_attempts(losses: OwnLosses, hints: Hints) -> Iterator[Attempt]:
    horizon = losses.problem.horizon
    lengths = [length for length in _LENGTHS if horizon is None or length < horizon]
    hinted = hints.options.get("length")
    if horizon is not None:
        lengths = [horizon] if hints.method == "finite" else [horizon, *lengths]
    if isinstance(hinted, int) and hinted >= 1:
        lengths = [hinted if horizon is None else min(hinted, horizon)]
    for length in lengths:
        yield lambda length=length: _finite(losses, length)  # type: ignore[misc]


def _finite(losses: OwnLosses, length: int) -> Proven:
    whole = length == losses.problem.horizon
    kind = f"{length:,} rounds" if whole else f"first {length:,} rounds, then the floor"
    proof = finite_bound(losses, length, kind)
    return Proven(proof.value, proof.in_words())


def _endless_attempts(losses: OwnLosses, hints: Hints) -> Iterator[Attempt]:
    if hints.method == "truncated":
        return
    if isinstance(hints.policy, CountPolicy):
        caps = _caps_of(losses, hints.policy.shape)
        yield lambda: _in_box(losses, caps)
    # What lies beyond the edge of its own box is argued for differently here; a larger one decides.
    for states in _BOXES[:2] if hints.method == "lattice" else _BOXES:
        yield lambda states=states: _in_box(losses, box_caps(losses, states))  # type: ignore[misc]


def _caps_of(losses: OwnLosses, shape: tuple[int, ...]) -> IntArray:
    counted = Counted.of(losses)
    caps = np.ones(counted.dimensions, dtype=np.int64)
    for test, place in enumerate(counted.place):
        if place >= 0 and test < len(shape):
            caps[place] = max(caps[place], shape[test] - 1)
    return caps


def _in_box(losses: OwnLosses, caps: IntArray) -> Proven:
    proof = box_bound(losses, caps, f"counts up to {_listed(caps)}")
    return Proven(proof.value, proof.in_words())


def _listed(caps: IntArray) -> str:
    return " x ".join(str(int(cap)) for cap in caps)


Dual = tuple[Potentials, DualProof, str]


def _dual(losses: OwnLosses, hints: Hints, slack: float) -> Dual:
    """The potentials of a certificate, what they prove, and what of its claims does not hold."""
    certificate = hints.certificate
    assert certificate is not None
    potentials = Potentials(losses, certificate)
    fault = potentials.faults()
    if fault or not losses.is_convex:
        nothing = DualProof(np.zeros(0), np.zeros(1), -np.inf, 0, 0, 0)
        return potentials, nothing, fault or "it is about convex losses, which these are not"
    claimed, allowed = certificate.round_minima, slack * losses.scale
    proof = prove(potentials, losses, claimed - 0.1 * allowed, _path(losses, hints.policy, 3_000))
    short = claimed - proof.minima
    if short.max() > allowed:
        return potentials, proof, f"round {int(short.argmax())} falls short by {short.max():.3g}"
    if certificate.dual_bound > proof.value + slack * abs(certificate.dual_bound):
        return (
            potentials,
            proof,
            f"it claims {certificate.dual_bound:.10g}, but proves {proof.value:.10g}",
        )
    return potentials, proof, ""


def _path(losses: OwnLosses, policy: Policy, rounds: int) -> FloatArray:
    """Errors (rounds, n) of somebody for whom things go as planned."""
    rounds = min(rounds, losses.problem.horizon or rounds)
    shown = np.zeros((rounds, losses.problem.size), dtype=np.int64)
    for t, tests in enumerate(policy.schedule(rounds)):
        shown[t, list(tests)] = 1
    counts = np.cumsum(shown, axis=0) - shown
    table = losses.errors_after(range(rounds + 1))
    return np.asarray(table[np.arange(losses.problem.size), counts])


def _by_certificate(losses: OwnLosses, hints: Hints, dual: Dual, slack: float) -> Proven:
    """What the potentials prove, and the beam that they guide."""
    certificate = hints.certificate
    assert certificate is not None
    potentials, proof, fault = dual
    if fault:
        return Proven(-np.inf, f"dual certificate FAILS: {fault}", fault=fault)
    how = f"dual certificate: {proof.in_words()}"
    claimed = certificate.beam_bound
    if not certificate.beam_layers or claimed <= proof.value + slack * abs(proof.value):
        return Proven(proof.value, how)
    width, layers = int(certificate.beam_width), int(certificate.beam_layers)
    if width < 1 or layers < 0:
        fault = f"a beam of width {width} over {layers} layers is none"
        return Proven(-np.inf, f"dual certificate FAILS: {fault}", fault=fault)
    walked = beam_again(proof, potentials, losses, hints.value, width, layers)
    if claimed > walked + slack * abs(claimed):
        fault = f"its beam claims {claimed:.10g}, but proves {walked:.10g}"
        return Proven(-np.inf, f"dual certificate FAILS: {fault}", fault=fault)
    return Proven(
        max(proof.value, walked),
        f"{how}; beam of at most {width:,} states walked again over "
        f"{min(layers, potentials.length):,} rounds",
    )


def people_bound(problem: Problem) -> tuple[float, str]:
    """What no plan goes below for one person, by means that serve all kinds."""
    weight = total_weight(problem.discount, problem.horizon)
    if not _can_be_listed(problem) or isinstance(problem.learner, OwnPerson):
        floor, how = least_round(problem)
        return floor * weight, how
    losses = OwnLosses.of(problem)
    if problem.learner.kind == NoLearning.kind:
        first = [
            float(losses.losses(row, problem.initial_errors[None, :])[0])
            for row in range(len(losses.sets))
        ]
        return (min(first) - losses.slack) * weight, "the cheapest set of somebody who stands still"
    return instant_bound(problem, [losses]), _INSTANTLY
