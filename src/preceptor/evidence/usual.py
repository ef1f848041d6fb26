"""Parameters of people as published experiments found them: what to try, and how likely it is."""

from __future__ import annotations

from preceptor.evidence.axes import Axis

# A falling rate is compared with a constant one at this round.
REFERENCE_ROUND = 20.0

# ln rate ~ N(ln 0.05, 1.1): a median half-life of 14 showings.
RATE = Axis("rate", "share of a weight's error that one showing removes", 0.003, 0.7, 12, 0.05, 1.1)
FEW_RATES = Axis("rate", RATE.meaning, 0.004, 0.6, 9, 0.05, 1.1)
# 10, 50 and 90 % points .12, .40, 1.
FLOOR = Axis(
    "floor", "share of the error that stays, however often a test is shown", 0.07, 0.85, 5,
    beta=(2.0, 3.0),
)  # fmt: skip
# (1 + m)^-power leaves as much after 20 showings as a rate of 0.05 does, in the median.
POWER = Axis("power", "the error falls as (showings + 1) to minus this", 0.03, 3.0, 10, 0.34, 1.0)
# Half of people do not fade at all (the families without fading); else log-uniform.
FADING = Axis("forgetting", "share of the exposure that a round takes away", 0.003, 0.1, 4)
DAILY = Axis("forgetting", "share of the exposure that a day takes away", 0.003, 0.3, 5)
LEAK = Axis("leak", "share by which weights go back to the first ones each round", 0.003, 0.1, 4)
DECAY = Axis("decay", "power of time by which steps become smaller", 0.25, 1.0, 3)
LATE_RATE = Axis("rate", "step at the twentieth round", 0.004, 0.6, 9, 0.05, 1.1)
# After m showings about 1 / (1 + ratio m) of an error is left: half after 14, in the median.
RATIO = Axis(
    "certainty", "prior variance of weights over the noise they expect", 0.003, 6.0, 10, 0.07, 1.3
)
FEW_RATIOS = Axis("certainty", RATIO.meaning, 0.004, 5.0, 7, 0.07, 1.3)
# In the long run a Bayesian with drift moves like a delta rule of rate sqrt(drift).
DRIFT = Axis("drift", "variance that weights gain each round, over the noise", 1e-4, 4e-2, 4)
