"""Problems in which every showing divides a test's error by a constant.

Then a state is a vector of relative errors u, a round costs a constant plus |W_S u|^2, and plans
can be searched and bounded with a few arrays. One idea a file:

- `instance`: the problem as arrays, and what every method here needs of it;
- `search`: local search on whole schedules, a good plan fast;
- `dual`: multipliers for each round that prove a lower bound on the cost of every plan;
- `set_lists`: which sets a round keeps in mind, and certifying over every one of them;
- `newton`: how the multipliers are improved, one banded Newton step for all rounds at once;
- `certified_beam`: a beam ranked by what the dual proves; it raises the bound and finds plans;
- `certificate`: what a bound leaves behind in a plan and its file;
- `check` and `slow_beam`: the bound and the beam proven again, slowly, by code of their own.

Nothing is imported here: `import preceptor` needs `certificate` alone, and that is light.
"""
