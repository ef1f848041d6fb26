"""The paper's theorems as functions: thresholds, certificates, worst cases and reductions.

- `one_step`: the loss of one round, written out as on paper;
- `two_features`: the symmetric pair of tests, solved in closed form;
- `stationary_gap`: problems on which every fixed set is as bad as one likes;
- `tail`: what rounds cost in the long run, and ties there;
- `exploration`: from which round on an optimal policy has stopped exploring;
- `truncation`: what it can cost to plan only so many rounds;
- `hardness`: vertex cover as a one-round problem (needs networkx when it is called).
"""

from preceptor.evaluation.long_run import (
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
from preceptor.theory.stationary_gap import StationaryGap, stationary_gap
from preceptor.theory.truncation import (
    TightnessExample,
    TruncationCertificate,
    rounds_for_error,
    tightness_example,
    truncation_certificate,
    truncation_error,
)
from preceptor.theory.two_features import (
    PairSolution,
    SymmetricPair,
    critical_correlation,
    optimal_policy,
)

__all__ = [
    "ExplorationCertificate",
    "ExplorationTerms",
    "PairSolution",
    "StationaryGap",
    "SymmetricPair",
    "TightnessExample",
    "TruncationCertificate",
    "VertexCoverDecision",
    "VertexCoverInstance",
    "conditional_covariance",
    "critical_correlation",
    "decide_by_planning",
    "explained_covariance",
    "exploration_certificate",
    "exploration_terms",
    "frozen_counts",
    "limiting_errors",
    "one_step_loss_by_blocks",
    "one_step_loss_by_quadratic_form",
    "optimal_policy",
    "recurrent_tests",
    "rounds_for_error",
    "settled_round",
    "stationary_gap",
    "tail_losses",
    "tail_minimisers",
    "tied_sets",
    "tightness_example",
    "truncation_certificate",
    "truncation_error",
    "vertex_cover_instance",
]
