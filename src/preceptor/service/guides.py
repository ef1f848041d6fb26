"""What a plan says to one person, fast enough for a request: nothing is solved here.

Somebody who is off the plan goes on with it from the furthest point that they have reached; that a
tutor, which plans anew, may do better is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from preceptor._base.threads import one_blas_thread
from preceptor.advice.from_here import SoFar, from_here
from preceptor.advice.next_case import NextCase, best_at_hand, how_far_off, is_over, not_available
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.policies import CountPolicy, ExploreThenRepeat
from preceptor.policies.planned_counts import PlannedCounts
from preceptor.service.recent import Recent
from preceptor.service.wording import Wording
from preceptor.store import plans
from preceptor.store.checking import Columns

_GOES_ON = "Going on with the plan from there; a tutor for this person may do better."


class Guide:
    """A plan that is being followed, by any number of people.

    Parameters
    ----------
    plan
        What to follow.
    sha256
        Its name.
    """

    def __init__(self, plan: Plan, sha256: str) -> None:
        self.plan, self.sha256 = plan, sha256
        self.problem = plan.problem
        self.words = Wording(plan.problem)
        found = plan.policy.settles()
        size = self.problem.size
        self._planned = None if found is None else PlannedCounts(found[0], found[1], size)
        self._length = plan.policy.exploration_length

    @property
    def gap(self) -> float | None:
        """By which share the plan can be above the best possible; None if nothing is known."""
        return self.plan.gap if math.isfinite(self.plan.gap) else None

    def wanted(self, counts: Sequence[int], position: int | None) -> NextCase:
        """What the plan shows next, whether it can be shown or not.

        Parameters
        ----------
        counts
            Showings of each column since the plan began, (n,).
        position
            Rounds since the plan began; None where only counts are known.

        Returns
        -------
        NextCase
            Without a loss, which would take time.
        """
        problem, policy, reasons = self.problem, self.plan.policy, []
        done, on_plan = 0, True
        if self._planned is not None:
            done, on_plan = self._planned.place(counts, position)
        if self._planned is None or (isinstance(policy, CountPolicy) and not on_plan):
            totals = np.add(problem.start_counts, counts).tolist()
            shown = policy.recommend(totals, position if self._planned is None else None)
        else:
            shown = self._planned.shown(done)
        horizon = problem.horizon
        if horizon is not None and position is not None and position >= horizon:
            reasons.append(is_over(horizon))
        elif not on_plan and self._planned is not None:
            reasons += [how_far_off(problem, self._planned, counts, done), _GOES_ON]
        names = tuple(problem.world.name_of(shown))
        case = None if position is None else position + 1
        settles = self._settles(done, position) if on_plan else None
        return NextCase(shown, names, case, horizon, settles, on_plan, tuple(reasons), None)

    def at_hand(
        self, counts: Sequence[int], position: int | None, available: Sequence[int]
    ) -> NextCase:
        """The best that can be shown where not everything can; takes a while."""
        wanted = self.wanted(counts, position)
        if set(wanted.shown) <= set(available):
            return wanted
        with one_blas_thread():
            now, rest = self.problem, None
            if self.problem.learns_by_showings:
                now = from_here(self.problem, SoFar(tuple(counts), None, position))
                rest = self._rest(counts, position)
            shown = best_at_hand(now, available, wanted.shown, rest)
        said = not_available(self.problem, wanted.shown, available)
        names = tuple(self.problem.world.name_of(shown))
        return replace(wanted, shown=shown, names=names, reasons=(*wanted.reasons, said))

    def _rest(self, counts: Sequence[int], position: int | None) -> ExploreThenRepeat | None:
        """The plan from where somebody is."""
        if self._planned is None:
            return None
        done, _ = self._planned.place(counts, position)
        prefix, word = self._planned.prefix, self._planned.word
        ahead: tuple[TestSet, ...] = prefix[done:]
        if not ahead:
            turned = (done - len(prefix)) % len(word)
            word = (*word[turned:], *word[:turned])
        return ExploreThenRepeat(ahead, word)

    def _settles(self, done: int, position: int | None) -> int | None:
        if position is None or self._planned is None:
            return None
        first = len(self._planned.prefix) if self._length is None else self._length
        return first + 1 + position - done


def read_plan(body: str) -> Guide:
    """A plan file, checked."""
    guide = Guide(Plan.from_json(body), plans.sha256_of(body))
    guide.wanted([0] * guide.problem.size, 0)
    return guide


def in_words(case: NextCase) -> str:
    """The whole reason."""
    return " ".join([case.in_words(), *case.reasons])


class Book:
    """Plans in memory, by hash: a file is read once, however many people follow it."""

    def __init__(self) -> None:
        self._guides: Recent[str, Guide] = Recent()

    def guide(self, connection: Connection, sha256: str) -> Guide:
        """The guide of a plan that is kept in the store.

        Parameters
        ----------
        connection
            To read it if it is not in memory.
        sha256
            Its hash.

        Returns
        -------
        Guide
            Shared by all who ask.

        Raises
        ------
        NotThere
            There is no such plan.
        """
        found = self.known(sha256)
        if found is None:
            found = Guide(Plan.from_json(plans.body_of(connection, sha256)), sha256)
            self.add(found)
        return found

    def columns_of(self, connection: Connection, sha256: str) -> Columns:
        """What a check of the store has to know about the tests of a plan."""
        words = self.guide(connection, sha256).words
        return Columns(words.counted, lambda by_test: words.counts(by_test, "start"))

    def known(self, sha256: str) -> Guide | None:
        """The guide, if it is in memory."""
        return self._guides.get(sha256)

    def add(self, guide: Guide) -> None:
        """Remember a guide that somebody has made."""
        self._guides.put(guide.sha256, guide)
