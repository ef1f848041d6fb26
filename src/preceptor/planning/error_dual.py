"""The dual over errors, where a showing divides an error by a constant and errors are squared.

Multipliers (kappa, r, N) of each round and test weigh kappa log u + r u - N u^2 in relative errors
u. With both increments, of kappa and of N, positive from round to round, a round is minimised over
real u instead of whole counts, by closed forms: that is what makes hundreds of sets affordable. The
two constraints are kept by a logarithmic barrier.

Since log u = -m log alpha after m showings, these multipliers are potentials of the counts, and the
bound is handed on as such.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.parallel import in_threads
from preceptor._base.progress import counted_seconds
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.certificate import COUNT_UNIT, LONGEST
from preceptor.planning.dual import (
    ROUNDS_A_PIECE,
    CoolingStage,
    Dual,
    DualBound,
    ProvenMultipliers,
    Smooth,
    add_up,
    assembled,
    constants,
    newton_direction,
    rounds_that_count,
    timeline,
)
from preceptor.planning.dual_instances import CountInstance

# Weight of the constraints' barrier, in temperatures.
BARRIER = 0.2
# Temperatures, in losses of a round: of restarts, the last one, and the ratio of successive ones.
HOT, COLD, COOLING = 3e-2, 2e-6, 0.4
# Families up to this size list every set in every round; larger ones grow lists of that length.
LISTED = 120


class ErrorDual(Dual):
    """A `Dual` over errors; theta (T+1, 3, n) holds kappa, r and N of every round.

    A small family lists every set in every round. A large one starts with none and lists those that
    come near a round's minimum (column generation); sets that are not listed are screened by cheap
    bounds, so a certified minimum always covers the whole family.
    """

    proves_each_step = True

    def __init__(
        self, instance: CountInstance, schedule: IntArray, halt: IntArray | None = None
    ) -> None:
        """Initial multipliers come from a schedule (set ids, one per round)."""
        from preceptor.planning._dual_kernels import SMALLEST

        super().__init__(instance, halt)
        self.schedule, self.length = schedule, instance.length
        self.times = timeline(instance.length, instance.has_tail)
        self.cost = instance.floor + instance.prices
        self.ratio = instance.errors[:, 1] / instance.errors[:, 0]
        R, actions, n, length = self.times.rounds, instance.actions, instance.n_tests, self.length
        self.complete = len(actions) <= LISTED
        width = min(len(actions), LISTED)
        self.lists = np.tile(actions[:width], (R, 1))
        self.sizes = np.full(R, width if self.complete else 0, dtype=np.int64)
        self.best = np.zeros(R, dtype=np.int64)
        self.z = np.zeros((R, width, instance.reading.shape[1]))
        self.log_alpha = -np.log(self.ratio)
        # (T+1, n) smallest and largest relative error after t rounds. In the tail errors may fall
        # below its row; there the kernels bound what is below from its end.
        low = np.exp(-np.arange(length + 1)[:, None] * self.log_alpha)
        self.low, self.high = np.maximum(low, SMALLEST), np.ones_like(low)
        self.centres = self.high[:R].copy()
        self.stop_cost = np.array([instance.stop_cost(t) for t in range(length + 1)])
        self.free = np.tile(np.tile(instance.moving, 3), (length + 1, 1))
        if not self.times.has_tail:
            self.free[length] = False
        self.prices: FloatArray | None = None
        self.minima = np.full(R, -np.inf)
        self.seconds = 0.0  # of the last pass over all sets
        self.listed_at = np.inf
        self.theta, self.loss, self.first = self._start(n)

    def _start(self, n: int) -> tuple[FloatArray, float, float]:
        """Multipliers from the plan at the strength that certifies most, loss scale, temperature.

        Where errors of both signs cancel, the plan's own worths overstate what learning one test
        brings; a weak strength then wins, and the ascent needs a higher temperature to find its
        way. Otherwise a large family starts cool, so that few sets matter in a round.
        """
        best, best_value, loss, trusted = np.zeros((self.length + 1, 3, n)), -np.inf, 1.0, False
        for strength in (1.0, 0.4, 0.1, 0.01):
            least = 1e-3 if strength > 0.3 and not self.complete else 1e-2
            theta, loss = self._from_schedule(strength, least)
            value = self._value(theta, self._all_sets(theta, 0.0, 1e-4 * loss, 1)[3])
            if strength == 1.0 or value > best_value:
                best, best_value, trusted = theta, value, strength > 0.3
        return best, loss, HOT if self.complete else 5e-4 if trusted else 1e-2

    def _from_schedule(self, strength: float, least: float) -> tuple[FloatArray, float]:
        """Multipliers from the plan: mu_t is what changing an error by a share is worth."""
        instance, T, n = self.instance, self.length, self.instance.n_tests
        discount, reading = instance.discount, instance.reading
        padded = np.append(self.schedule[:T], np.full(T, self.schedule[-1]))[:T].astype(np.int64)
        counts = np.vstack([np.zeros(n), np.cumsum(instance.shown[padded], axis=0)])[:T]
        u = np.exp(-counts * self.log_alpha)
        images = np.einsum("tkn,tn->tk", reading[padded], u)
        worth = np.maximum(2.0 * np.einsum("tkn,tk->tn", reading[padded], images) * u, 0.0)
        loss = self.cost[padded] + (images**2).sum(axis=1)
        weights = discount ** np.arange(T)
        scale = abs(float((loss * weights).sum() / weights.sum()))
        kernel = np.ones(15)
        covered = np.convolve(np.ones(T), kernel, mode="same")
        smooth = [np.convolve(each, kernel, mode="same") / covered for each in worth.T]
        floor = least * scale + 1e-12
        mu = strength * np.stack(smooth, axis=1) + floor
        theta = np.zeros((T + 1, 3, n))
        if instance.has_tail:
            theta[T, 0] = theta[T, 2] = floor
        for t in range(T - 1, -1, -1):
            theta[t, 0] = discount * theta[t + 1, 0] + mu[t]
            theta[t, 2] = discount * theta[t + 1, 2] + floor
        theta[0] = discount * theta[1]
        theta[:, :, ~instance.moving] = 0.0
        return theta, scale + 1e-12

    def begin(self, _number: int, best: ProvenMultipliers | None) -> CoolingStage:
        """Start with the multipliers from the plan, then restart hot from the best ones."""
        hot = self.first
        if best is not None:
            off = self._from_schedule(0.0, 3e-3)[0]
            self.theta, self.prices, hot = best.theta + off, None, HOT
        return CoolingStage(hot, COLD, COOLING, damping=1e-3)

    def step(self, temp: float, damping: float) -> tuple[float, float]:
        """A step that keeps both increments positive and violates no set."""
        if not self.complete and temp != self.listed_at:
            self._list_sets(self.theta, temp)
            self.listed_at = temp
        if self.halt[0]:  # perhaps before rounds had any set listed, which leaves them no minimum
            return 0.0, damping
        before = self.theta
        smooth = self.evaluate(before, temp, True)
        trial, gain, damping = self._ascend(smooth, temp, damping)
        if self.complete:
            self.theta = trial
            self.minima = self._all_sets(trial, 0.0, 1e-3 * temp, 1)[3]
            return gain, damping
        # The step may violate sets that are not listed: then take part of it. They are listed
        # afterwards, so the next step includes them.
        for _ in range(3):
            self.theta, self.minima = trial, self._list_sets(trial, temp)
            if self.evaluate(trial, temp, False).merit > smooth.merit:
                return gain, damping
            trial = before + 0.3 * (trial - before)
        self.theta, self.minima = before, self._list_sets(before, temp)
        return gain, damping

    def prove(self, temp: float) -> ProvenMultipliers:
        """The result of the pass over all sets at the end of every step."""
        if not np.isfinite(self.minima).all():  # nothing was tried yet
            self.minima = self._all_sets(self.theta, 0.0, 1e-3 * temp, 1)[3]
        return ProvenMultipliers(
            self.theta, self.minima, self._value(self.theta, self.minima), self.seconds
        )

    def certify(self, best: ProvenMultipliers, status: str, iterations: int) -> DualBound:
        """One complete pass, and the multipliers written as potentials.

        Both passes are valid bounds of every round, and a subproblem may stall from one start and
        not from another, so the larger of the two counts.
        """
        instance, theta, T = self.instance, best.theta, self.length
        scale = float(np.abs(self.cost).max()) + 1e-12
        minima = np.maximum(self._all_sets(theta, 0.0, 1e-13 * scale, 4, 60)[3], best.minima)
        kappa, r, N = theta[:, 0], theta[:, 1], theta[:, 2]
        caps = self._caps()
        if self.times.has_tail:
            # Beyond its cap a count is read as the cap, though errors fall on: by no more than u.
            u = np.exp(-caps * self.log_alpha)
            minima[T] -= float((np.abs(r[T]) * u + np.abs(N[T]) * u * u).sum())
        C = constants(instance, minima, self._stop_terms(theta)[0])
        potentials = np.stack([-COUNT_UNIT * self.log_alpha * kappa, -r, N], axis=2)
        # kappa log u + r u - N u^2 is that potential and r - N, whatever the count.
        shift = (r - N).sum(axis=1)
        minima += shift[: minima.size]
        minima -= instance.discount * np.append(shift[1:], shift[-1:])[: minima.size]
        return DualBound(instance, potentials, caps, C + shift, minima, status, iterations)

    def _caps(self) -> IntArray:
        """Counts (n,) up to which the repeated last round has to be checked."""
        with np.errstate(divide="ignore"):
            # In the last round counts are read on until next to nothing is left of an error.
            needed = np.ceil(-np.log(1e-9) / self.log_alpha)
        needed = np.where(self.free[self.length, : needed.size], needed, 1.0)
        return np.maximum(np.minimum(needed, LONGEST), self.length).astype(np.int64)

    def _value(self, theta: FloatArray, minima: FloatArray) -> float:
        """What the multipliers prove with certified minima of their rounds."""
        stop, _, _ = self._stop_terms(theta)
        C = constants(self.instance, minima, stop)
        return float(theta[0, 1].sum() - theta[0, 2].sum() + C[0])

    def _all_sets(
        self, theta: FloatArray, margin: float, tolerance: float, width: int, steps: int = 40
    ) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Every set in every round.

        Returns near-minimal sets (R, width), how many (R,), warm starts, certified minima (R,):
        -inf for rounds that were not reached before `halt` was set.
        """
        from preceptor.planning._dual_kernels import all_sets_rounds

        instance, R = self.instance, self.times.rounds
        position = np.minimum(self.best, np.maximum(self.sizes - 1, 0))
        guess = np.where(self.sizes > 0, self.lists[np.arange(R), position], instance.actions[0])
        lists, sizes = np.zeros((R, width), dtype=np.int64), np.zeros(R, dtype=np.int64)
        z, g = np.zeros((R, width, instance.reading.shape[1])), np.full(R, -np.inf)
        arguments = (
            theta, self.low, self.high, instance.reading, instance.singles, instance.members,
            self.cost, instance.discount, self.ratio, self.log_alpha,
            self.times.has_tail, instance.actions, self.centres, guess, margin, tolerance, steps,
            lists, sizes, z, g, self.halt,
        )  # fmt: skip
        began = counted_seconds()
        in_threads(
            lambda part: all_sets_rounds(part.start, part.stop, *arguments), R, ROUNDS_A_PIECE
        )
        self.seconds = counted_seconds() - began
        return lists, sizes, z, g

    def _list_sets(self, theta: FloatArray, temp: float) -> FloatArray:
        """Certify over every set, list each round's nearly active ones; certified minima (R,).

        Sets already listed stay as long as there is room: replacing lists outright lets the
        multipliers cycle.
        """
        width = self.lists.shape[1]
        lists, sizes, z, minima = self._all_sets(theta, 12.0 * temp, 1e-2 * temp, width)
        for t in range(self.times.rounds):
            new, room = lists[t, : sizes[t]], width - int(sizes[t])
            old = self.lists[t, : self.sizes[t]]
            stay = np.flatnonzero(~np.isin(old, new))[:room]
            z[t, sizes[t] : sizes[t] + len(stay)] = self.z[t, stay]
            lists[t, sizes[t] : sizes[t] + len(stay)] = old[stay]
            sizes[t] += len(stay)
        self.lists, self.sizes, self.z = lists, sizes, z
        self.best[:] = 0
        return minima

    def evaluate(self, theta: FloatArray, temp: float, second: bool) -> Smooth:
        """Smoothed dual with its barrier, and derivatives if `second`."""
        from preceptor.planning._dual_kernels import smooth_rounds

        instance, times, n = self.instance, self.times, self.instance.n_tests
        R, delta = times.rounds, instance.discount
        soft, grad = np.empty(R), np.empty((R, 6 * n))
        hess = np.empty((R, 6 * n, 6 * n)) if second else np.empty((R, 1, 1))
        # At most 30 Newton steps on the subproblem of one round and one set.
        arguments = (
            theta, self.low, self.high, instance.reading, instance.members, self.cost, delta,
            self.ratio, self.log_alpha, times.has_tail, self.lists, self.sizes, self.z,
            temp, 1e-4 * temp, 30, soft, self.best, grad, hess, second,
        )  # fmt: skip
        in_threads(lambda part: smooth_rounds(part.start, part.stop, *arguments), R, ROUNDS_A_PIECE)
        stop, stop_grad, stop_curve = self._stop_terms(theta)
        heat = temp * rounds_that_count(instance)
        value, weight, stops = add_up(times, delta, soft, stop, heat)
        amounts = increments(theta, delta, times.has_tail)
        # Round 0 has one state, so no constraint.
        worth = np.maximum(delta ** np.arange(R), 1e-300)[1:, None] * instance.moving
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(instance.moving, np.log(amounts[:, 1:]).sum(axis=0), 0.0)
        barrier = BARRIER * temp
        merit = value + float(theta[0, 1].sum() - theta[0, 2].sum())
        merit += barrier * float((worth * logs).sum())
        if not second:
            return Smooth(merit, grad, hess, hess)
        place = np.arange(3 * n).reshape(3, n).T
        smooth = assembled(times, merit, weight, grad, hess, stops, stop_grad, stop_curve, place)
        self._add_barrier(smooth, amounts, worth, barrier)
        return smooth

    def _add_barrier(
        self, smooth: Smooth, amounts: FloatArray, worth: FloatArray, barrier: float
    ) -> None:
        """Derivatives of the logarithms of theta_t - delta theta_{t+1}, for kappa and N."""
        T, n, delta = self.length, self.instance.n_tests, self.instance.discount
        last = T if self.times.has_tail else T - 1  # rounds 1..last carry free multipliers
        stay = np.ones((last, 1))
        if self.times.has_tail:
            stay[-1] = 1.0 - delta
        inner = slice(0, T - 1)  # rounds 1..T-1 also push on the next round's multipliers
        for q, part in enumerate((0, 2)):
            columns = part * n + np.arange(n)
            inverse = 1.0 / np.where(self.instance.moving, amounts[q, 1:], 1.0)
            push = barrier * worth * inverse
            price = barrier * inverse if self.prices is None else self.prices[q, 1:]
            most = barrier * inverse
            curve = worth * np.clip(price, 1e-8 * most, 1e8 * most) * inverse
            smooth.gradient[1 : last + 1, columns] += stay * push[:last]
            smooth.gradient[2 : T + 1, columns] -= delta * push[inner]
            smooth.diagonal[1 : last + 1, columns, columns] += stay**2 * curve[:last]
            smooth.diagonal[2 : T + 1, columns, columns] += delta**2 * curve[inner]
            smooth.below[1:T, columns, columns] -= delta * curve[inner]

    def _stop_terms(
        self, theta: FloatArray
    ) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
        """Slack of stopping at each round with its derivatives; None without an empty set."""
        from preceptor.planning._dual_kernels import stop_rounds

        if self.instance.empty_set < 0:
            return None, None, None
        T, n = self.length, self.instance.n_tests
        value, grad, curve = np.empty(T + 1), np.empty((T + 1, 3 * n)), np.empty((T + 1, n, 3, 3))
        tail_row = T if self.times.has_tail else -1
        stop_rounds(
            0, T + 1, theta, self.low, self.high, tail_row, self.stop_cost, value, grad, curve
        )
        return value, grad, curve

    def _ascend(
        self, smooth: Smooth, temp: float, damping: float
    ) -> tuple[FloatArray, float, float]:
        """One damped Newton step: the new multipliers, the gain it predicts, the next damping."""
        theta, delta = self.theta, self.instance.discount
        ridge = np.maximum(delta ** np.arange(self.length + 1), 1e-12) / self.loss
        first_slope = 0.0
        for _ in range(8):
            flat = newton_direction(smooth, self.free, damping, ridge)
            if flat is None:
                damping = max(10.0 * damping, 1e-6)
                continue
            step = flat.reshape(theta.shape)
            slope = float((smooth.gradient * flat * self.free).sum())
            # Damping shrinks the slope without being nearer the optimum.
            first_slope = max(first_slope, slope)
            size = min(1.0, 0.95 * self._longest_step(step))
            for _half in range(4):
                trial = theta + size * step
                trial[0] = delta * trial[1]
                merit = self.evaluate(trial, temp, False).merit
                if np.isfinite(merit) and merit > smooth.merit + 1e-3 * size * slope:
                    damping = max(damping * (0.2 if size > 0.5 else 1.0), 1e-9)
                    self._update_prices(step, BARRIER * temp)
                    return trial, first_slope, damping
                size *= 0.4
            damping = max(10.0 * damping, 1e-6)
        return theta, first_slope, damping

    def _longest_step(self, step: FloatArray) -> float:
        """Largest multiple of `step` that keeps both increments of constrained rounds positive."""
        delta, moving = self.instance.discount, self.instance.moving
        values, changes = (
            increments(each, delta, self.times.has_tail)[:, 1:, moving]
            for each in (self.theta, step)
        )
        falling = changes < 0.0
        return float(np.min(-values[falling] / changes[falling], initial=np.inf))

    def _update_prices(self, step: FloatArray, barrier: float) -> None:
        """Move the prices of both constraints along the Newton step that moves theta by `step`.

        Prices follow (amount * price = barrier) linearised. With barrier / amount in their place,
        every lowering of the barrier would first aim across the boundary and cut the steps short.
        """
        delta, tail, moving = self.instance.discount, self.times.has_tail, self.instance.moving
        amounts = np.maximum(increments(self.theta, delta, tail), 1e-100)
        amounts[:, 0] = 1.0  # round 0 has no constraint
        changes = increments(step, delta, tail)
        old = barrier / amounts if self.prices is None else self.prices
        move = barrier / amounts - old * changes / amounts - old
        move[:, :, ~moving] = 0.0
        falling = (move < 0.0) & moving
        falling[:, 0] = False
        size = min(1.0, 0.95 * float(np.min(-old[falling] / move[falling], initial=np.inf)))
        self.prices = np.where(moving, old + size * move, 1.0)


def increments(theta: FloatArray, discount: float, has_tail: bool) -> FloatArray:
    """(2, R, n) what kappa and N lose from a round to the next; theta is (T+1, 3, n)."""
    both = theta[:, [0, 2]].transpose(1, 0, 2)
    lost = both[:, :-1] - discount * both[:, 1:]
    if has_tail:
        lost = np.concatenate([lost, (1.0 - discount) * both[:, -1:]], axis=1)
    return lost
