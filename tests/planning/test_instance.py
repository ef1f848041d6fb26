"""The arrays of an instance say what a round costs."""

import numpy as np
from numpy.testing import assert_allclose

from tests.planning.exact import random_instance, read_matrix


def test_factors_are_roots_of_the_loss():
    instance = random_instance(2, 4, (0, 1, 2, 3))
    outer = np.outer(instance.initial_error, instance.initial_error)
    for S in range(instance.n_sets):
        root = instance.factor[S]
        assert_allclose(root.T @ root, read_matrix(instance, S) * outer, atol=1e-12)
