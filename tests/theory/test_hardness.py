"""Vertex cover by planning, against trying every set of vertices."""

import itertools
import sys

import numpy as np
import pytest

import preceptor as pr
from preceptor.theory.hardness import decide_by_planning, vertex_cover_instance

nx = pytest.importorskip("networkx")

GRAPHS = {
    "K4": nx.complete_graph(4),
    "K33": nx.complete_bipartite_graph(3, 3),
    "prism": nx.circular_ladder_graph(3),
    "cube": nx.hypercube_graph(3),
    "Petersen": nx.petersen_graph(),
    "random 8": nx.random_regular_graph(3, 8, seed=1),
    "random 10": nx.random_regular_graph(3, 10, seed=2),
    "two K4": nx.disjoint_union(nx.complete_graph(4), nx.complete_graph(4)),
}


def covers(graph, vertices) -> bool:
    return all(u in vertices or v in vertices for u, v in graph.edges)


def smallest_cover(graph) -> int:
    return next(
        k
        for k in range(graph.number_of_nodes() + 1)
        if any(covers(graph, set(c)) for c in itertools.combinations(graph.nodes, k))
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("name", GRAPHS)
def test_planning_decides_vertex_cover(name):
    graph = GRAPHS[name]
    least = smallest_cover(graph)
    for size in range(max(1, least - 2), min(least + 2, graph.number_of_nodes()) + 1):
        decision = decide_by_planning(graph, size)
        assert decision.has_cover == (size >= least)
        if decision.has_cover:
            assert len(decision.cover) == size
            assert covers(graph, set(decision.cover))
        else:
            assert decision.cover is None


@pytest.mark.parametrize("name", ["K4", "K33", "prism", "random 8"])
def test_every_set_costs_what_the_proof_says(name):
    graph = GRAPHS[name]
    for size in range(1, graph.number_of_nodes() + 1):
        instance = vertex_cover_instance(graph, size)
        problem, n = instance.problem, graph.number_of_nodes()
        for shown in problem.sets:
            loss = float(problem.oracle.loss_of(np.zeros((1, n)), shown)[0])
            hidden = [instance.vertices[i] for i in range(n) if i not in shown]
            between = graph.subgraph(hidden).number_of_edges()
            remainder = 1 + len(hidden) + 2 * instance.correlation * between - loss
            assert -1e-12 <= remainder < instance.correlation / 2


@pytest.mark.parametrize("name", ["K4", "prism", "Petersen"])
def test_a_good_enough_approximation_would_decide_too(name):
    graph = GRAPHS[name]
    least = smallest_cover(graph)
    for size in (least - 1, least):
        instance = vertex_cover_instance(graph, size)
        best = decide_by_planning(graph, size).loss
        worst_answer = best * (1 + instance.tolerable_error)
        assert (worst_answer <= instance.threshold) == (size >= least)
        n = graph.number_of_nodes()
        assert 1 / instance.tolerable_error == pytest.approx(80 * n * (n + 1))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.cycle_graph(5), "vertex 0 has 2 edges"),
        (nx.Graph(), "no vertices"),
        (nx.DiGraph([(0, 1)]), "simple undirected"),
        (nx.MultiGraph([(0, 1)] * 3), "simple undirected"),
        (nx.Graph([(0, 0), (0, 1), (1, 1)]), "joined to itself"),
    ],
)
def test_other_graphs_are_refused(graph, message):
    with pytest.raises(pr.InvalidInput, match=message):
        decide_by_planning(graph, 1)


@pytest.mark.parametrize("size", [0, 5])
def test_impossible_cover_sizes_are_refused(size):
    with pytest.raises(pr.InvalidInput, match="cover_size"):
        decide_by_planning(nx.complete_graph(4), size)


def test_edge_weights_do_not_matter():
    graph = nx.complete_graph(4)
    nx.set_edge_attributes(graph, 17.0, "weight")
    assert decide_by_planning(graph, 3).has_cover


def test_without_networkx_the_extra_is_named(monkeypatch):
    graph = nx.complete_graph(4)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(pr.MissingExtra, match=r"preceptor\[theory\]"):
        vertex_cover_instance(graph, 3)
