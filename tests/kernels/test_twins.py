"""Every kernel is compared with a slow twin in the tests: by itself, or through its caller."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = sorted((ROOT / "src" / "preceptor").rglob("_*kernels.py"))
TESTS = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]

# Not called by a test themselves: which kernels or functions call them, and where those have twins.
THROUGH = {
    "place_run": "layer_counts",
    "next_run": "layer_counts",
    "run_losses": "forward",
    "on_surface": "pair_charge",
    "slopes_on_surface": "pair_slopes",
    "yes_no_charge": "tests/planning/test_yes_no.py: every sequence of sets",
    "yes_no_charges": "tests/loss/test_yes_no.py: sums over the score",
    "relax_run": "forward",
    "target_rank": "forward",
    "forward": "tests/planning/test_finite.py: every sequence of sets",
    "backtrack": "tests/planning/test_finite.py: the schedule is among the best ones",
    "relax_layer": "tests/planning/test_finite.py: as the compiled route",
    "sweep_planes": "tests/planning/test_lattice.py: value iteration with dictionaries",
    "commit_cost": "best_commits",
    "best_commits": "tests/planning/test_truncated.py: every prefix and commitment",
    "best_commits_summed": "tests/planning/test_truncated.py: every prefix and commitment",
    "learning_terms": "tree_commits",
    "visit": "tree_commits",
    "tree_commits": "tests/kernels/test_planning_loops.py: one commitment after the other",
    "tree_lengths": "tree_losses",
    "tree_losses": "tests/loss/test_set_tree.py: one set after the other",
    "smooth_rounds": "tests/verification/test_dual_check.py: bounds are proven again",
    "bend_parts": "climb",
    "climb": "tests/kernels/test_count_rounds.py: bounds come near the least bracket",
    "soft_pieces": "tests/kernels/test_count_rounds.py: finite differences",
    "exact_pieces": "tests/kernels/test_count_rounds.py: every count of every round",
    "all_sets_rounds": "tests/verification/test_dual_check.py: minima are found again",
    "screening_tables": "all_sets_rounds",
    "round_loss": "replay",
    "round_rows": "exposure_prices",
    "losses_of_all": "exposure_prices",
    "walk_errors": "tests/people/test_coordinates.py: a plain loop",
    "_row": "walk_errors",
    "fade": "walk_errors",
    "fade_back": "tests/people/test_quadratic.py: dense matrices",
    "repeat_forever": "tests/people/test_coordinates.py: long sums",
    "error_prices": "tests/people/test_coordinates.py: playing again",
    "errors_at": "replay",
    "slopes_at": "exposure_prices",
    "shows": "limit_orbit",
    "expose": "replay",
    "walk_exposures": "exposure_prices",
    "replay": "tests/people/test_exposures.py: a plain loop",
    "limit_orbit": "tests/people/test_exposures.py: long repetition",
    "play_word": "tests/people/test_exposures.py: a plain loop",
    "show_forever": "tests/people/test_exposures.py: a plain loop, and playing again",
    "take_back": "exposure_prices",
    "take_back_all": "exposure_prices",
    "take_back_word": "exposure_prices",
    "exposure_prices": "tests/people/test_exposures.py: playing again",
    "invert": "tests/people/test_bayesian_expectation.py: a plain recursion",
    "look": "tests/people/test_bayesian_expectation.py: a plain recursion",
    "gain": "tests/people/test_bayesian_expectation.py: finite differences",
    "backward": "tests/people/test_bayesian_expectation.py: finite differences",
    "added": "tests/people/test_bayesian_expectation.py: a plain recursion",
    "_capped": "tests/people/test_faces.py: people who act",
    "_reading": "tests/people/test_faces.py: people who act",
    "_directions": "tests/people/test_faces.py: people who act",
    "_spread_of": "tests/people/test_faces.py: people who act",
    "times": "tests/people/test_faces.py: people who act",
    "pace_of": "averages",
    "root_of": "averages",
    "averages": "play_beliefs",
    "gain_of": "play_beliefs",
    "read_belief": "play_beliefs",
    "play_beliefs": "tests/people/test_yes_no_expected.py: people who act",
    "_slope": "back_beliefs",
    "back_beliefs": "tests/people/test_yes_no_expected.py: playing again",
    "belief_prices": "tests/people/test_yes_no_expected.py: playing again",
    "read_score": "path_losses",
    "moments_of": "path_losses",
    "seen_of": "path_losses",
    "path_losses": "tests/people/test_yes_no_expected.py: people who act",
    "path_slopes": "tests/people/test_yes_no_expected.py: playing again",
    "walk_states": "path_losses",
    "walk_back": "tests/people/test_yes_no_expected.py: playing again",
    "set_prices": "tests/people/test_yes_no_expected.py: playing again",
    "_times_turned": "tests/people/test_faces.py: people who act",
    "_add_turned_times": "tests/people/test_faces.py: playing again",
    "t_terms": "tests/evidence/test_laplace.py: sums over all weights",
    "choice_terms": "tests/evidence/test_laplace.py: sums over all weights",
    "solve": "likeliest",
    "factor": "tests/evidence/test_laplace.py: sums over all weights",
    "likeliest": "tests/evidence/test_laplace.py: a general optimiser, sums over all weights",
    "exposure_rows": "tests/evidence/test_designs.py: following the person",
    "surprise_rows": "tests/evidence/test_designs.py: following the person, a plain loop",
    "certainty_rows": "tests/evidence/test_designs.py: following the person, a plain loop",
}


def kernels() -> list[str]:
    trees = [ast.parse(path.read_text("utf-8")) for path in KERNELS]
    return [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]


@functools.cache
def called() -> set[str]:
    """Names that tests call, with or without the module in front."""
    found = set()
    for path in TESTS:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                function = node.func
                found.add(getattr(function, "attr", getattr(function, "id", "")))
    return found


@pytest.mark.parametrize("kernel", kernels())
def test_it_has_a_twin(kernel):
    seen = set()
    while kernel in THROUGH and kernel not in seen:
        seen.add(kernel)
        through = THROUGH[kernel]
        if through.startswith("tests/"):
            assert (ROOT / through.split(":")[0]).is_file()
            return
        kernel = through
    assert kernel in called()


def test_nothing_is_explained_that_is_no_kernel():
    assert set(THROUGH) <= set(kernels())
