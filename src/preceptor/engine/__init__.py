"""Proofs on plain arrays.

Where every showing divides a test's error by a constant, a state is a vector of relative errors u,
a round costs a constant plus |W_S u|^2, and plans can be bounded with a few arrays.
One idea a file:

- `instance`: the problem as arrays, and what every method here needs of it;
- `dual`: multipliers for each round that prove a lower bound on the cost of every plan;
- `set_lists`: which sets a round keeps in mind, and certifying over every one of them;
- `newton`: how the multipliers are improved, one banded Newton step for all rounds at once;
- `multiplier_guide`: how they guide a beam.

For any curve, imputation and convex risk a state is a vector of counts:

- `counted`: such a problem as arrays;
- `potentials`: what functions of the counts, one for each round, prove;
- `general_dual`, `smoothed`: how good ones are found;
- `potential_guide`: how they guide a beam.

Either way, `guided_beam` walks the counts in order of what is proven; it raises the bound and finds
plans. `merging` finds equal counts, for this beam and for the paper's.

What a bound leaves behind is in `preceptor.certificate`, slow proofs of it in `verification`.
Nothing is imported here.
"""
