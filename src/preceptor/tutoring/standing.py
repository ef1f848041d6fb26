"""Where a tutor stands: the filters after a record, and those that own ways are found from.

Own ways are not found anew after every answer but at given rounds, and followed in between. That
follows from the record alone, so a tutor that was written and read again stands where it stood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from preceptor.tutoring.bank import Bank
from preceptor.tutoring.lookout import Outlook
from preceptor.tutoring.rounds import Round

# Own ways are found anew in each of the first rounds, and then every so many rounds.
_EVERY = 8


@dataclass(eq=False)
class Standing:
    """The filters now (`bank`), and those from which own ways are, or will be, found.

    `due` is the round before which that was due; `outlook` has the ways, once they were asked for.
    """

    bank: Bank
    due_bank: Bank
    due: int = 0
    outlook: Outlook | None = None

    def moved_to(self, bank: Bank, played: int) -> Standing:
        """After an answer or a truth, once so many rounds have been played."""
        if played < _EVERY or played % _EVERY == 0:
            return Standing(bank, bank, played)
        return Standing(bank, self.due_bank, self.due, self.outlook)


def replayed(first: Bank, record: Sequence[Round]) -> Standing:
    """Follow a record from its first round."""
    standing = Standing(first, first)
    for played, entry in enumerate(record, start=1):
        standing = standing.moved_to(after_answer(standing.bank, entry), played)
        for heard in record[:played]:
            if heard.heard == played:
                standing = standing.moved_to(after_truth(standing.bank, heard), played)
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
