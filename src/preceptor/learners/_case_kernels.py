"""Compiled pricing of (case, set) pairs: error now, and change of the error alone.

Letters (`learners/case_rule.py` derives them): x results of the shown tests (k), y outcome, and for
each set u = F w (k), G = F C F', p = B'(H w - g), Q = B'HB, T = B'HCF' and D = F R F' (k, k), where
w, C are mean and covariance of the person's weights, F imputes hidden tests, B is the direction in
which a surprise moves the weights, and d0 + x'Dx normalises the step. Sets are padded to the
largest: padded results are 0, so they add nothing.
"""

from __future__ import annotations

import math

from preceptor._base.jit import jit


@jit
def price_pairs(x, y, y_variance, members, sizes, u, G, p, Q, T, D, d0, base, link, now, change):
    """Fill `now` (cases, sets), the expected loss of the answer, and `change`, that of `alone`.

    x (cases, n), y (cases,) expected outcomes, y_variance (cases,) their variance. `link` is 0 for
    numbers, 1 for probit and 2 for logistic answers to yes/no questions, with score `base` + x'u.
    """
    for s in range(members.shape[0]):
        k = sizes[s]
        for c in range(x.shape[0]):
            xu = xp = xGx = xQx = xTx = xDx = 0.0
            for i in range(k):
                a = x[c, members[s, i]]
                xu += a * u[s, i]
                xp += a * p[s, i]
                for j in range(k):
                    ab = a * x[c, members[s, j]]
                    xGx += ab * G[s, i, j]
                    xQx += ab * Q[s, i, j]
                    xTx += ab * T[s, i, j]
                    xDx += ab * D[s, i, j]
            d = d0 + xDx
            if link == 0:
                e = y[c] - xu
                spread = xGx
                slope = 1.0
            else:
                z = base + xu
                if link == 1:
                    h = 1.0 / math.sqrt(1.0 + xGx)
                    chance = 0.5 * math.erfc(-z * h / math.sqrt(2.0))
                    slope = h * math.exp(-0.5 * (z * h) ** 2) / math.sqrt(2.0 * math.pi)
                else:
                    h = 1.0 / math.sqrt(1.0 + math.pi * xGx / 8.0)
                    chance = 1.0 / (1.0 + math.exp(-z * h))
                    slope = h * chance * (1.0 - chance)
                e = y[c] - chance
                spread = xGx * slope * slope
            error = e * e + spread + y_variance[c]
            now[c, s] = error
            change[c, s] = (2.0 * e * xp + error * xQx / d - 2.0 * slope * xTx) / d
