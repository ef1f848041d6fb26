"""Problems and problem files for the tests of the schema."""

import copy
import json

import numpy as np

import preceptor as pr


def full_problem():
    """One with as many keys as possible."""
    world = pr.World.beta_copula([1.0, 0.5], 0.4, names=["a", "b"], noise_variance=0.2)
    curves = [pr.Geometric(1.2, floor=0.1), pr.Tabulated([1.0, 0.5], floor=0.2)]
    return pr.Problem(
        world,
        pr.Learner([0.0, 0.1], curves),
        pr.Knapsack([1.0, 2.0], 2.5, price=[0.1, 0.2]),
        discount=1.0,
        horizon=5,
        risk=pr.Huber(0.5),
        loss=pr.Empirical(64, "cubic", 3),
        start=(1, 0),
    )


def grouped_world():
    return pr.World([1.0, 0.5, 0.2], np.eye(3), names=["a", "b", "c"], groups={"bc": [1, 2]})


SHORT = {
    "world": {"coefficients": [1.0, 0.5], "correlation": 0.3},
    "learner": {"initial": [0.0, 0.0], "curves": {"kind": "geometric", "alpha": 1.1}},
    "budget": 1,
}


def changed(**changes):
    """A copy of SHORT with `a__b=value` set at data["a"]["b"]; None removes the key."""
    data = copy.deepcopy(SHORT)
    for path, value in changes.items():
        *way, last = path.split("__")
        table = data
        for key in way:
            table = table[key]
        if value is None:
            del table[last]
        else:
            table[last] = value
    return data


def with_levels(data):
    """A copy whose category of two columns has levels as people write them."""
    data = copy.deepcopy(data)
    levels = {"bc": {"I": "", "II": "b", "III": "c", "IV": "c"}}
    data["world"]["units"] = {"means": [0.0] * 3, "scales": [1.0] * 3, "levels": levels}
    return data


def whole_files():
    """Files that together have every table and every key."""
    groups = pr.Problem(grouped_world(), pr.Learner(np.zeros(3), pr.OneShot()), pr.Exactly(1))
    yield json.loads(full_problem().replace(risk=pr.SquaredError()).to_json())
    grouped = json.loads(groups.to_json()) | {"risk": {"kind": "squared-error"}}
    yield grouped
    yield with_levels(grouped)
    yield changed(
        learner__curves=[
            {"kind": "one-shot", "floor": 0.1},
            {
                "kind": "branch",
                "curve": {"kind": "power-law", "exponent": 1.0},
                "signs": [1, -1],
                "repeats": False,
            },
        ],
        budget={"kind": "listed", "allowed": [[0], [0, 1], []], "price": 0.1},
        risk={"kind": "absolute-error"},
        loss={"kind": "closed-form"},
    )
    units = {"means": [8.0, 2.0], "scales": [8.0, 2.0], "outcome": "fat", "outcome_mean": 1.0}
    yield changed(
        budget={"kind": "at-most", "k": 2, "price": [0.1, 0.2]},
        learner__imputation=[[1.0, 0.1], [0.1, 1.0]],
        world__units=units,
        risk={"kind": "huber", "threshold": 0.5},
    )
    yield changed(learner__imputation=0.5, horizon=3, start=[1, 0])
    answers = {"believed_prevalence": 0.4}
    yes_no = {"world__outcome": {"prevalence": 0.2, "link": "logistic"}}
    decision = {"kind": "decision", "miss": 5.0, "false_alarm": 2.0, "threshold": 0.3}
    yield changed(**yes_no, risk=decision | answers)
    yield changed(**yes_no, risk={"kind": "brier"} | answers)
    yield changed(world__outcome={"prevalence": 0.4}, risk={"kind": "log-loss"})
    people = list(other_people())
    yield from (changed(learner=person) for person in people)
    members = [
        {"name": name, "person": person, "weight": 0.5}
        for name, person in zip("ab", people[-2:], strict=True)
    ]
    yield changed(learner={"kind": "crowd", "members": members})


def other_people():
    """One table of each kind of person, the paper's apart, that together have every key."""
    first = {"initial": [0.0, 0.1]}
    curves = first | {"curves": {"kind": "geometric", "alpha": 1.1}}
    yield {"kind": "delta-rule", "rate": 0.1, "all_weights": True, "decay": 0.2, "cap": 2.0} | first
    yield {"kind": "delta-rule", "rate": 0.1, "imputation": 1.0} | first
    yield {"kind": "bayesian", "prior_variance": [1.0, 0.5], "noise_variance": 1.0} | first
    still = {"kind": "no-learning", "initial": [0.0, 0.1, -0.2]}
    yield {"kind": "with-level", "person": still, "rate": 0.2}
    yield {"kind": "forgetful", "forgetting": 0.1} | curves
    yield {"kind": "drifting", "drift": 0.1} | curves
    yield {"kind": "indirect", "indirect": 0.4} | curves
    yield {"kind": "folding", "folding": 0.4} | curves
    yield {"kind": "no-learning", "imputation": 0.3} | first
