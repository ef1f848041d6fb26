"""How yes-or-no answers are charged, from what people say about it: what each mistake costs."""

from __future__ import annotations

from typing import Any

from preceptor._base.checks import is_number
from preceptor.errors import InvalidInput
from preceptor.model.risks import Risk
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Brier, Decision, LogLoss

# What can be named in place of a risk.
RISKS: dict[str, type[Risk]] = {each.kind: each for each in (Decision, Brier, LogLoss)}


def reading_as(link: str | None, as_number: bool) -> dict[str, Any]:
    """What was said about reading an outcome of two values; what is left out is up to the reader.

    Parameters
    ----------
    link
        "probit" or "logistic", or None.
    as_number
        Whether it is to be read as a number.

    Returns
    -------
    dict
        Arguments of `fit_world`.
    """
    said: dict[str, Any] = {} if link is None else {"link": link}
    return said | ({"as_number": True} if as_number else {})


def risk_for(
    world: World,
    *,
    risk: str | Risk | None = None,
    miss_cost: float | None = None,
    false_alarm_cost: float | None = None,
    link: str | None = None,
    as_number: bool = False,
) -> Risk | None:
    """The risk that was asked for; None for the usual one of this world.

    Parameters
    ----------
    world
        Whose outcome it charges.
    risk
        "decision", "brier" or "log-loss", or a risk.
    miss_cost
        What saying no costs when the truth is yes; 1 if left out.
    false_alarm_cost
        What saying yes costs when the truth is no; 1 if left out.
    link
        Only to refuse it where the outcome is a number.
    as_number
        Whether a yes-or-no outcome was asked to be read as a number.

    Returns
    -------
    Risk or None
        For a `Problem` in that world.

    Raises
    ------
    InvalidInput
        Costs for an outcome that is a number, or that make no sense.
    """
    costs = {"miss_cost": miss_cost, "false_alarm_cost": false_alarm_cost}
    given = {name: cost for name, cost in costs.items() if cost is not None}
    if not world.is_binary:
        about = {**given, "link": link, "risk": risk if isinstance(risk, str) else None}
        name = "the outcome" if world.units is None else world.units.outcome
        remedy = "leave out `as_number`" if as_number else "leave it out"
        InvalidInput.raise_if(
            f"{each}: is about outcomes that are yes or no, but {name} is read as a number; "
            f"{remedy}"
            for each, value in about.items()
            if value is not None
        )
        return risk if isinstance(risk, Risk) else None
    if isinstance(risk, str) and risk not in RISKS:
        raise InvalidInput(f"risk: {risk!r}, must be {', '.join(RISKS)}")
    if given and risk is not None and risk != Decision.kind:
        InvalidInput.raise_if(
            f"{each}: is what a wrong decision costs, but `risk` says otherwise; leave one of them "
            "out"
            for each in given
        )
    InvalidInput.raise_if(
        f"{name}: {cost:g}, must be a cost above 0"
        for name, cost in given.items()
        if not is_number(cost) or not 0.0 < cost < 1e50
    )
    if isinstance(risk, Risk):
        return risk
    if risk is None or risk == Decision.kind:
        return Decision(given.get("miss_cost", 1.0), given.get("false_alarm_cost", 1.0))
    return RISKS[risk]()
