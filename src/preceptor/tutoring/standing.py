"""Where a tutor stands: the filters after a record, and those that the present plan is made from.

Plans are not made anew after every answer: they are at given rounds, when the kinds have become
much likelier or less likely, and when what was planned in common is used up. All of that follows
from the record alone, so a tutor that was written and read again stands where it stood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor.tutoring.bank import Bank
from preceptor.tutoring.lookout import Outlook
from preceptor.tutoring.rounds import Round

# Rounds before which one always plans again, and by how much the shares of kinds may move between.
_PLANNED_BEFORE = (0, 1, 2, 3, 5, 8, 12, 17, 24, 33, 45, 60, 80, 110, 150)
_EVERY = 50
_MOVED = 0.15
# Whoever is this likely is taken to be known until one plans again anyway.
_SURE = 0.95


@dataclass(eq=False)
class Standing:
    """The filters now (`bank`), and those from which the present plan is or will be made.

    `due` is the round before which that plan was due; `outlook` is the plan, once somebody has
    asked for it.
    """

    bank: Bank
    due_bank: Bank
    due: int = 0
    outlook: Outlook | None = None

    @classmethod
    def first(cls, bank: Bank) -> Standing:
        """Before the first round."""
        return cls(bank, bank)

    def moved_to(self, bank: Bank, played: int, common_rounds: int) -> Standing:
        """After an answer or a truth; decides whether a new plan is due."""
        shares, then = bank.kinds, self.due_bank.kinds
        moved = float(np.abs(shares - then).max()) >= _MOVED
        regular = played > self.due and (
            played in _PLANNED_BEFORE or (played > _PLANNED_BEFORE[-1] and played % _EVERY == 0)
        )
        used_up = played - self.due >= common_rounds and float(shares.max()) < _SURE
        # What was heard since the plan was made in this very round counts too.
        fresh = played == self.due and bank is not self.due_bank
        if moved or regular or used_up or fresh:
            return Standing(bank, bank, played)
        return Standing(bank, self.due_bank, self.due, self.outlook)


def replayed(first: Bank, record: Sequence[Round], common_rounds: int) -> Standing:
    """Follow a record from its first round."""
    standing = Standing.first(first)
    for played, entry in enumerate(record, start=1):
        standing = standing.moved_to(after_answer(standing.bank, entry), played, common_rounds)
        for heard in record[:played]:
            if heard.heard == played:
                bank = after_truth(standing.bank, heard)
                standing = standing.moved_to(bank, played, common_rounds)
    return standing


def after_answer(bank: Bank, entry: Round) -> Bank:
    """The filters once a round has been answered, if it was."""
    if entry.answer is None:
        return bank
    world = bank.world
    return bank.answered(entry.shown, entry.results(world), entry.answer_in(world))


def after_truth(bank: Bank, entry: Round) -> Bank:
    """The filters once the truth of a round has been told."""
    world = bank.world
    answer = None if entry.answer is None else entry.answer_in(world)
    return bank.told(entry.shown, entry.results(world), entry.outcome_in(world), answer)
