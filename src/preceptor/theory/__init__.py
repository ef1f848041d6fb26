"""The paper's theorems as functions: thresholds, certificates, worst cases and reductions.

- `one_step`: the loss of one round, written out as on paper;
- `two_tests`: the symmetric pair of tests, solved in closed form, with the comparison in its proof,
  keep against switch; and two tests of different weight, where one is left in the end;
- `stationary_gap`: problems on which every fixed set is arbitrarily bad;
- `uniqueness`: whether the best plan is the only one, and why ties are rare;
- `regularity`: how fast losses can change with beliefs, the assumption behind what follows;
- `exploration`: the round after which an optimal policy has stopped exploring;
- `truncation`: what it can cost to plan only a limited number of rounds;
- `hardness`: vertex cover as a one-round problem (needs networkx when it is called).

What rounds cost in the long run, and ties there, is `model.long_run`.
"""

from preceptor.model.long_run import (
    frozen_counts,
    limiting_errors,
    recurrent_tests,
    settled_round,
    tail_losses,
    tail_minimisers,
    tied_sets,
)
from preceptor.theory.exploration import (
    ExplorationCertificate,
    ExplorationTerms,
    exploration_certificate,
    exploration_terms,
)
from preceptor.theory.hardness import (
    VertexCoverDecision,
    VertexCoverInstance,
    decide_by_planning,
    vertex_cover_instance,
)
from preceptor.theory.one_step import (
    conditional_covariance,
    explained_covariance,
    one_step_loss_by_blocks,
    one_step_loss_by_quadratic_form,
)
from preceptor.theory.regularity import RegularLoss, regular_loss
from preceptor.theory.stationary_gap import StationaryGap, stationary_gap
from preceptor.theory.truncation import (
    TightnessExample,
    TruncationCertificate,
    rounds_for_error,
    tightness_example,
    truncation_certificate,
    truncation_error,
)
from preceptor.theory.two_tests import (
    PairSolution,
    SymmetricPair,
    asymmetric_pair,
    closing_weight,
    critical_correlation,
    keeping_advantage,
    keeping_difference,
    optimal_policy,
    pair_tail_losses,
    switching_difference,
)
from preceptor.theory.uniqueness import (
    OptimumUniqueness,
    TailMargin,
    least_tail_margin,
    tie_coefficient,
    unique_optimum,
)

__all__ = [
    "ExplorationCertificate",
    "ExplorationTerms",
    "OptimumUniqueness",
    "PairSolution",
    "RegularLoss",
    "StationaryGap",
    "SymmetricPair",
    "TailMargin",
    "TightnessExample",
    "TruncationCertificate",
    "VertexCoverDecision",
    "VertexCoverInstance",
    "asymmetric_pair",
    "closing_weight",
    "conditional_covariance",
    "critical_correlation",
    "decide_by_planning",
    "explained_covariance",
    "exploration_certificate",
    "exploration_terms",
    "frozen_counts",
    "keeping_advantage",
    "keeping_difference",
    "least_tail_margin",
    "limiting_errors",
    "one_step_loss_by_blocks",
    "one_step_loss_by_quadratic_form",
    "optimal_policy",
    "pair_tail_losses",
    "recurrent_tests",
    "regular_loss",
    "rounds_for_error",
    "settled_round",
    "stationary_gap",
    "switching_difference",
    "tail_losses",
    "tail_minimisers",
    "tie_coefficient",
    "tied_sets",
    "tightness_example",
    "truncation_certificate",
    "truncation_error",
    "unique_optimum",
    "vertex_cover_instance",
]
