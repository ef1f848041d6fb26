"""Proofs on plain arrays.

Where every showing divides a test's error by a constant, a state is a vector of relative errors u,
a round costs a constant plus |W_S u|^2, and plans can be bounded with a few arrays.
One idea a file:

- `instance`: the problem as arrays, and what every method here needs of it;
- `error_dual`: multipliers for each round that prove a lower bound on the cost of every plan.

For any curve, imputation and convex risk a state is a vector of counts:

- `counted`: such a problem as arrays;
- `count_dual`: functions of the counts, one for each round, that prove a lower bound.

Either way, `ascent` finds good ones, one banded Newton step for all rounds at once, `bound` is what
they prove, and `guided_beam` walks the counts in order of that; it raises the bound and finds
plans.

What a bound leaves behind is in `preceptor.certificate`, slow proofs of it in `verification`.
Nothing is imported here.
"""
