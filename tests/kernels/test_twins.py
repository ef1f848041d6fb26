"""Every kernel is compared with a slow twin in the tests: by itself, or through its caller."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNELS = sorted((ROOT / "src" / "preceptor").rglob("_*kernels.py"))
TESTS = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]

# Not called by a test themselves: which kernels or functions call them, and where those have twins.
THROUGH = {
    "answer_row": "surprise_rows",
    "price_pairs": "tests/learners/test_case_rule.py: prices are those of `Person.moves`",
    "place_run": "layer_counts",
    "next_run": "layer_counts",
    "run_losses": "forward",
    "on_surface": "pair_charge",
    "slopes_on_surface": "pair_slopes",
    "yes_no_charge": "tests/planning/test_yes_no.py: every sequence of sets",
    "yes_no_charges": "tests/model/test_yes_no.py: sums over the score",
    "relax_run": "forward",
    "target_rank": "forward",
    "forward": "tests/planning/test_finite.py: every sequence of sets",
    "backtrack": "tests/planning/test_finite.py: the schedule is among the best ones",
    "relax_layer": "tests/planning/test_finite.py: as the compiled route",
    "sweep_planes": "tests/planning/test_lattice.py: value iteration with dictionaries",
    "best_commits_summed": "tests/planning/test_truncated.py: every prefix and commitment",
    "learning_terms": "tree_commits",
    "visit": "tree_commits",
    "tree_commits": "tests/kernels/test_planning_loops.py: one commitment after the other",
    "tree_lengths": "tree_losses",
    "tree_losses": "tests/model/test_set_tree.py: one set after the other",
    "smooth_rounds": "tests/proofs/test_dual_check.py: bounds are proven again",
    "bend_parts": "climb",
    "climb": "tests/kernels/test_count_rounds.py: bounds come near the least bracket",
    "soft_pieces": "tests/kernels/test_count_rounds.py: finite differences",
    "exact_pieces": "tests/kernels/test_count_rounds.py: every count of every round",
    "all_sets_rounds": "tests/proofs/test_dual_check.py: minima are found again",
    "screening_tables": "all_sets_rounds",
    "round_loss": "walk_exposures",
    "round_rows": "exposure_prices",
    "losses_of_all": "exposure_prices",
    "walk_errors": "tests/people/test_coordinates.py: a plain loop",
    "_row": "walk_errors",
    "fade": "walk_errors",
    "fade_back": "tests/people/test_quadratic.py: dense matrices",
    "repeat_forever": "tests/people/test_coordinates.py: long sums",
    "error_prices": "tests/people/test_coordinates.py: playing again",
    "risk_of": "price_sets",
    "charged_loss": "price_sets",
    "show": "price_sets",
    "turn_to": "price_sets",
    "tail_cost": "price_sets",
    "play_charged": "price_sets",
    "replay_blocks": "price_sets",
    "add_round": "price_sets",
    "add_rounds": "price_sets",
    "start_at_tail": "price_sets",
    "price_sets": "tests/planning/test_search.py: evaluating every changed schedule",
    "errors_at": "walk_exposures",
    "slopes_at": "exposure_prices",
    "shows": "limit_orbit",
    "apart": "take_back_all",
    "expose": "walk_exposures",
    "walk_exposures": "tests/people/test_exposures.py: a plain loop",
    "limit_orbit": "tests/people/test_exposures.py: long repetition",
    "play_word": "tests/people/test_exposures.py: a plain loop",
    "take_back": "exposure_prices",
    "take_back_all": "exposure_prices",
    "take_back_word": "exposure_prices",
    "exposure_prices": "tests/people/test_exposures.py: playing again",
    "invert": "tests/people/test_bayesian_expectation.py: a plain recursion",
    "read_set": "tests/people/test_bayesian_expectation.py: a plain recursion",
    "gain": "tests/people/test_bayesian_expectation.py: finite differences",
    "backward": "tests/people/test_bayesian_expectation.py: finite differences",
    "precision_gain": "tests/people/test_bayesian_expectation.py: a plain recursion",
    "_capped": "tests/people/test_faces.py: people who act",
    "imputing_rows": "tests/people/test_faces.py: people who act",
    "_solved_slice": "tests/people/test_faces.py: playing again",
    "_gain": "tests/people/test_faces.py: people who act",
    "step_back": "tests/people/test_faces.py: playing again",
    "_directions": "tests/people/test_faces.py: people who act",
    "_spread_of": "tests/people/test_faces.py: people who act",
    "multiply": "tests/people/test_faces.py: people who act",
    "threshold_charge": "charge_of",
    "threshold_slopes": "pair_slopes",
    "near_levels": "charge_of",
    "cubic": "charge_of",
    "charge_of": "tests/people/test_with_level.py: integrals over the score",
    "slopes_of": "tests/people/test_yes_no_expected.py: playing again",
    "pace_at": "averages",
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
    "walk_back": "tests/people/test_faces.py: playing again",
    "walk_states_back": "tests/people/test_yes_no_expected.py: playing again",
    "walk_errors_back": "tests/people/test_coordinates.py: playing again",
    "set_prices": "tests/people/test_yes_no_expected.py: playing again",
    "multiply_turned": "tests/people/test_faces.py: people who act",
    "_add_turned_times": "tests/people/test_faces.py: playing again",
    "t_terms": "tests/learners/test_laplace.py: sums over all weights",
    "choice_terms": "tests/learners/test_laplace.py: sums over all weights",
    "solve": "likeliest",
    "factor": "tests/learners/test_laplace.py: sums over all weights",
    "likeliest": "tests/learners/test_laplace.py: a general optimiser, sums over all weights",
    "exposure_rows": "tests/learners/test_designs.py: following the person",
    "surprise_rows": "tests/learners/test_designs.py: following the person, a plain loop",
    "certainty_rows": "tests/learners/test_designs.py: following the person, a plain loop",
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


def has_twin(kernel: str) -> bool:
    seen = set()
    while kernel in THROUGH and kernel not in seen:
        seen.add(kernel)
        kernel = THROUGH[kernel]
    if kernel.startswith("tests/"):
        return (ROOT / kernel.split(":")[0]).is_file()
    return kernel in called()


def test_every_kernel_has_a_twin():
    assert not [kernel for kernel in kernels() if not has_twin(kernel)]


def test_nothing_is_explained_that_is_no_kernel():
    assert set(THROUGH) <= set(kernels())
