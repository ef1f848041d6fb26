"""What participants are paid: bonuses by performance, and a list for the recruiter.

The store keeps recruiters' names as keyed hashes only. The list is made from the names that the
owner has from the recruiter: each is hashed and looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from sqlalchemy import Connection

from preceptor._base.words import csv_text, safe_cell
from preceptor.errors import InvalidInput
from preceptor.live.store import participants, rounds
from preceptor.live.store.rounds import StoredRound
from preceptor.live.store.studies import KeptStudy
from preceptor.live.study.config import Testing
from preceptor.live.study.study import Study


def bonus(study: Study, played: Sequence[StoredRound]) -> float | None:
    """The bonus for these rounds, to the cent; None if the study has none, or nothing counts yet.

    Parameters
    ----------
    study
        The study, with its rule.
    played
        All rounds of a participant.

    Returns
    -------
    float or None
        From 0 to `payment.most`.
    """
    rule, blocks = study.configuration.payment, study.configuration.block
    trials = study.protocol.trials
    tested = {trial.number for trial in trials if isinstance(blocks[trial.block], Testing)}
    counted = tested or {trial.number for trial in trials if trial.training is not None}
    errors = [
        abs(each.prediction - each.outcome)
        for each in played
        if each.number in counted and each.prediction is not None and each.outcome is not None
    ]
    if rule is None or not errors:
        return None
    return round(rule.most * max(0.0, 1.0 - float(np.mean(errors)) / rule.none_at), 2)


@dataclass(frozen=True)
class PaymentRow:
    """What a recruiter needs to know about one of their people."""

    recruiter_id: str
    status: str
    code: str
    bonus: float | None


def payments(
    connection: Connection, kept: KeptStudy, study: Study, names: Sequence[str]
) -> list[PaymentRow]:
    """The list for the recruiter, in the order of the names.

    Parameters
    ----------
    connection
        Of the store.
    kept
        The row of the study, with the key of the hashes.
    study
        The study.
    names
        Recruiter's names of participants.

    Returns
    -------
    list of PaymentRow
        Status `unknown` for those who never joined, or whose data was erased.

    Raises
    ------
    InvalidInput
        The study file did not announce such a list.
    """
    if not study.configuration.recruiting.payments:
        raise InvalidInput(
            f"study: {kept.id!r} has no `payments = true` under [recruiting], so its participants "
            "were told that their names cannot be matched with their answers"
        )
    found = []
    for name in dict.fromkeys(names):
        hashed = participants.recruiters_name(kept.key, name)
        who = participants.by_recruiter(connection, kept.id, "real", hashed)
        if who is None:
            withdrew = participants.has_withdrawn(connection, kept.id, hashed)
            found.append(PaymentRow(name, "withdrawn" if withdrew else "unknown", "", None))
            continue
        own = bonus(study, rounds.all_of(connection, who.id)) if who.code else None
        found.append(PaymentRow(name, who.status, who.code or "", own))
    return found


def payments_table(rows: Sequence[PaymentRow]) -> str:
    """The list as CSV."""
    cells = [(safe_cell(row.recruiter_id), *astuple(row)[1:]) for row in rows]
    return csv_text([PaymentRow.__dataclass_fields__, *cells])
