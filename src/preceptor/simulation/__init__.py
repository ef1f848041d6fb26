"""Simulated people: policies played with people of all kinds, and comparisons of both.

>>> import preceptor as pr
>>> from preceptor import simulation
>>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
>>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=60)
>>> played = simulation.rollout(problem, pr.solve(problem), rounds=60, people=200, rng=0)
>>> played.losses.shape, played.log.names
((200, 60), ('x1', 'x2'))
"""

from preceptor.people.human import BatchHuman, Human, Sessions, answer_one_by_one
from preceptor.simulation.checking import check_human
from preceptor.simulation.choosing import RandomOrder, most_predictive
from preceptor.simulation.comparison import Comparison, compare
from preceptor.simulation.exemplar import ExemplarLearner
from preceptor.simulation.named import humans_of, matched_rate, people_of
from preceptor.simulation.rollouts import Rollout, rollout

__all__ = [
    "BatchHuman",
    "Comparison",
    "ExemplarLearner",
    "Human",
    "RandomOrder",
    "Rollout",
    "Sessions",
    "answer_one_by_one",
    "check_human",
    "compare",
    "humans_of",
    "matched_rate",
    "most_predictive",
    "people_of",
    "rollout",
]
