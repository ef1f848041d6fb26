"""Why there is no fast exact method: vertex cover hides in a single round.

**Theorem.** Deciding whether some policy costs at most a given amount is NP-hard, and unless
P = NP no method finds policies within a factor 1 + ε in time polynomial in the input and 1/ε.

The reduction takes a cubic graph (every vertex has three edges) with n vertices and a number k,
and makes one test of each vertex. Tests are correlated, weakly (ρ = 1/(20n)), where vertices are
joined; all coefficients are 1 and the person knows them, so nothing is left to learn and one round
is the whole problem. Showing S costs

    1 + (hidden tests) + 2ρ (edges between hidden tests) - (less than ρ/2),

so with k tests the loss is at most the threshold 1 + n - k + ρ/2 exactly if no edge is left with
both ends hidden: if S is a vertex cover. Covers give at most 1 + n - k, other sets more than
the threshold, and a relative error of ρ/(4(n+1)) cannot bridge that gap.

The gap shrinks like 1/n²: the argument rules out schemes that are polynomial in 1/ε, but says
nothing against a fixed factor such as 1.01. Needs networkx (`pip install 'preceptor[theory]'`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.extensions import from_extra
from preceptor.errors import InvalidInput
from preceptor.model.budgets import AtMost
from preceptor.model.problem import Problem
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import OneShot
from preceptor.planning.finite import solve_finite

if TYPE_CHECKING:
    from networkx import Graph


@dataclass(frozen=True)
class VertexCoverInstance:
    """A graph question as a one-round problem.

    There is a vertex cover of `cover_size` vertices if and only if some allowed set costs at most
    `threshold`.

    Attributes
    ----------
    problem
        Test i stands for `vertices[i]`.
    vertices
        The vertices of the graph.
    cover_size
        How many of them a cover may have.
    correlation
        Of two tests whose vertices are joined.
    cover_loss
        What a cover costs at most.
    threshold
        What only covers stay below.
    tolerable_error
        Any answer within a factor 1 + `tolerable_error` of the best one decides too.
    """

    problem: Problem
    vertices: tuple[Hashable, ...]
    cover_size: int
    correlation: float
    cover_loss: float
    threshold: float
    tolerable_error: float


@dataclass(frozen=True)
class VertexCoverDecision:
    """The answer, and the cover that was found if there is one.

    Attributes
    ----------
    has_cover
        Whether there is a vertex cover of that size.
    cover
        Its vertices, or None.
    loss
        Least loss of one round.
    threshold
        What it was compared with.
    """

    has_cover: bool
    cover: tuple[Hashable, ...] | None
    loss: float
    threshold: float


def vertex_cover_instance(graph: Graph, cover_size: int) -> VertexCoverInstance:
    """Turn "does this cubic graph have a vertex cover of that size?" into a one-round problem.

    Parameters
    ----------
    graph
        An undirected networkx graph with three edges at every vertex.
    cover_size
        How many vertices the cover may have.

    Returns
    -------
    VertexCoverInstance
        The problem, and the loss that decides.

    Raises
    ------
    InvalidInput
        The graph is not cubic, or the size makes no sense.
    MissingExtra
        networkx is not installed.

    Examples
    --------
    >>> import networkx as nx
    >>> instance = vertex_cover_instance(nx.complete_graph(4), 3)
    >>> instance.problem.size, round(instance.threshold, 5)
    (4, 2.00625)
    """
    networkx = from_extra("networkx", "theory", "The vertex-cover reduction")
    _check(graph, cover_size)
    vertices = tuple(graph.nodes)
    size = len(vertices)
    adjacency = networkx.to_numpy_array(graph, nodelist=vertices, weight=None, dtype=np.float64)
    correlation = 1.0 / (20.0 * size)
    truth = np.ones(size)
    world = World(truth, np.eye(size) + correlation * adjacency, noise_variance=1.0)
    problem = Problem(world, Learner(truth, OneShot()), AtMost(cover_size), discount=1.0, horizon=1)
    cover_loss = 1.0 + size - cover_size
    return VertexCoverInstance(
        problem=problem,
        vertices=vertices,
        cover_size=cover_size,
        correlation=correlation,
        cover_loss=cover_loss,
        threshold=cover_loss + correlation / 2.0,
        tolerable_error=correlation / (4.0 * (size + 1)),
    )


def decide_by_planning(graph: Graph, cover_size: int) -> VertexCoverDecision:
    """Decide vertex cover on a cubic graph by solving its one-round problem exactly.

    Takes time exponential in the size of the cover, as the theorem leads one to expect.

    Parameters
    ----------
    graph
        An undirected networkx graph with three edges at every vertex.
    cover_size
        How many vertices the cover may have.

    Returns
    -------
    VertexCoverDecision
        The answer, and the cover if there is one.

    Raises
    ------
    InvalidInput
        The graph is not cubic, or the size makes no sense.
    MissingExtra
        networkx is not installed.

    Examples
    --------
    >>> import networkx as nx
    >>> decide_by_planning(nx.complete_graph(4), 3).has_cover
    True
    >>> decide_by_planning(nx.complete_graph(4), 2).has_cover
    False
    """
    instance = vertex_cover_instance(graph, cover_size)
    plan = solve_finite(instance.problem)
    has_cover = plan.value <= instance.threshold
    shown = plan.policy.schedule(1)[0]
    return VertexCoverDecision(
        has_cover=has_cover,
        cover=tuple(instance.vertices[i] for i in shown) if has_cover else None,
        loss=plan.value,
        threshold=instance.threshold,
    )


def _check(graph: Graph, cover_size: int) -> None:
    faults = []
    if graph.is_directed() or graph.is_multigraph():
        faults.append("graph: directed or with parallel edges, must be a simple undirected graph")
    else:
        loops = [v for v in graph.nodes if graph.has_edge(v, v)]
        wrong = [(v, d) for v, d in graph.degree() if d != 3]
        if graph.number_of_nodes() == 0:
            faults.append("graph: has no vertices")
        if loops:
            faults.append(f"graph: vertex {loops[0]!r} is joined to itself, must be simple")
        elif wrong:
            vertex, degree = wrong[0]
            faults.append(
                f"graph: vertex {vertex!r} has {degree} edges ({len(wrong)} vertices differ from "
                "3), must be cubic: three edges at every vertex"
            )
    if not 1 <= cover_size <= max(graph.number_of_nodes(), 1):
        faults.append(
            f"cover_size: {cover_size!r}, must be from 1 to the {graph.number_of_nodes()} vertices"
        )
    InvalidInput.raise_if(faults)
