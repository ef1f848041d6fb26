"""Power plays the study that will be run: its trials, cases and arms, and its analysis."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from scipy import stats

import preceptor as pr
from preceptor._base.files import parse_toml
from preceptor.cli._app import app
from preceptor.live.study.arms import make_arms
from preceptor.live.study.cases import Filled, draw
from preceptor.live.study.power import (
    MIXTURE,
    Cell,
    Share,
    _next_size,
    _Simulations,
    in_words,
    noise_in_words,
    power,
)
from preceptor.live.study.registration import from_template, template
from preceptor.live.study.simulated_people import (
    DRAWS,
    assumptions,
    make_stage,
    noise,
    played,
    recruited,
    with_tutored_banks,
)
from preceptor.live.study.study import Study
from preceptor.people.human import Sessions, answer_one_by_one
from preceptor.simulation.rollouts import rollout
from tests.commands import CliRunner

RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})


def study_of(name="plan-or-fixed", rounds=None, **changes):
    data = copy.deepcopy(dict(parse_toml(template(name))))
    for table, new in changes.items():
        data[table].update(new)
    if rounds is not None:
        (training,) = (block for block in data["block"] if block["kind"] == "training")
        for check in training.get("check", ()):
            check["after"] = max(check["after"] * rounds // training["rounds"], 1)
        training["rounds"] = data["problem"]["horizon"] = rounds
    return Study.from_dict(data)


@pytest.fixture(scope="module")
def small():
    return study_of(rounds=12)


@pytest.fixture(scope="module")
def arms(small):
    return make_arms(small)


def test_rounds_without_the_truth_teach_nothing_and_slip_all_the_same():
    world, rng = pr.World.equicorrelated([1.0, 0.8], 0.8), np.random.default_rng(0)
    ann = pr.DeltaRule([0.2, 0.3], rate=0.1).acting(world, response_noise=0.5)
    told = np.array([True, False, False, True, True])
    which = rng.integers(2, size=(3, 5))
    cases = world.sample(15, rng)
    values, truths = cases.features.reshape(3, 5, 2), cases.outcomes.reshape(3, 5)
    sessions = Sessions(((0,), (0, 1)), which, values, truths, told)
    rngs = [np.random.default_rng(i) for i in range(3)]
    at_once = ann.predict_many(sessions, rngs)
    rngs = [np.random.default_rng(i) for i in range(3)]
    assert answer_one_by_one(ann, sessions, rngs).tobytes() == at_once.tobytes()
    everything = Sessions(((0,), (0, 1)), which, values, truths)
    rngs = [np.random.default_rng(i) for i in range(3)]
    other = ann.predict_many(everything, rngs)
    np.testing.assert_array_equal(other[:, :2], at_once[:, :2])
    assert np.all(other[:, 2:] != at_once[:, 2:])


def test_training_is_that_of_a_rollout():
    study = study_of(rounds=12, assumed={"scatter": 0.0, "drop_out": 0.0, "careless": 0.0})
    made = make_arms(study)
    kinds = assumptions(study)
    stage = make_stage(study, made, 3)
    rng = np.random.default_rng(0)
    who = recruited(stage, kinds, 3, rng)
    records = played(stage, kinds, who, rng)
    training = [t.number for t in study.protocol.trials if t.training is not None]
    for i in range(len(records)):
        human = kinds[who.kinds[i]].members[who.members[i]].human
        arm, place = made[who.arms[i]], who.places[i]
        run = rollout(study.problem, arm.chooser, 12, 3, rng=study.configuration.seed, human=human)
        rows = run.log.participant == f"p{place + 1:05d}"
        np.testing.assert_allclose(records.answers[i, training], run.log.prediction[rows])
        np.testing.assert_array_equal(records.values[i, training], run.log.values[rows])
        np.testing.assert_array_equal(records.outcomes[i, training], run.log.outcome[rows])


def test_places_are_filled_as_the_study_draws_them(small, arms):
    kinds = assumptions(small)
    stage = make_stage(small, arms, 6)
    who = recruited(stage, kinds, 6, np.random.default_rng(3))
    done = who.leaves >= stage.trials
    for arm in range(2):
        assert sorted(who.places[done & (who.arms == arm)]) == list(range(6))
    first = who.until(2 * 3, stage.trials)
    assert np.bincount(who.arms[:first][done[:first]]).tolist() == [3, 3]
    taken = [set(), set()]
    for number in range(len(done)):
        filled = [Filled(n, frozenset(t), 6) for n, t in zip(stage.arms, taken, strict=True)]
        found = draw(filled, number, small.configuration.seed)
        assert (stage.arms.index(found.arm), found.place) == (who.arms[number], who.places[number])
        if done[number]:
            taken[who.arms[number]].add(found.place)


@pytest.mark.full
def test_careless_people_and_drop_outs_are_left_out_of_the_analysis(small, arms):
    careful = study_of(rounds=12, assumed={"drop_out": 0.0, "careless": 0.0})
    without = power(careful, [8], simulations=10, arms=arms, seed=1)
    assert all(cell.excluded == 0.0 for cell in without.cells)
    careless = study_of(rounds=12, assumed={"drop_out": 0.3, "careless": 0.2})
    found = power(careless, [8], simulations=10, arms=arms, seed=1)
    expected = 1.0 - 0.7 * 0.8
    assert np.mean([c.excluded for c in found.cells]) == pytest.approx(expected, abs=0.08)


@pytest.mark.full
def test_who_cannot_differ_is_found_to_differ_as_often_as_the_level_says(small, arms):
    # Whoever never learns answers alike in both arms.
    found = power(small, [10], simulations=40, arms=arms, seed=2)
    cell = next(c for c in found.cells if c.kind == "no-learning")
    assert cell.power.low <= 0.05 <= cell.power.high + 0.05
    assert found.needed("no-learning") is None


def test_effects_have_one_sign_in_all_units(small, arms):
    found = power(small, [4, 6], simulations=10, arms=arms, seed=8)
    for cell in found.cells:
        assert np.sign(cell.effect) == np.sign(cell.standardised), cell


def test_a_large_effect_is_always_found():
    study = study_of(rounds=20, assumed={"scatter": 0.05})
    data = study.to_dict()
    data["assumed"]["kind"] = [{"human": "by-showings", "rate": 0.2}]
    data["arm"] = [
        {"name": "plan", "policy": "sets", "sets": [{"show": ["blue"], "rounds": 20}]},
        {"name": "fixed", "policy": "sets", "sets": [{"show": ["amber"], "rounds": 20}]},
    ]
    data["analysis"]["measure"] = "test error"
    found = power(Study.from_dict(data), [4, 12], simulations=10)
    assert {cell.kind for cell in found.cells} == {"by-showings 0.2"}
    assert found.cells[-1].power.share == 1.0
    assert found.needed("by-showings 0.2") <= 12
    assert "reach a power of 0.8" in in_words(found)


@pytest.mark.full
def test_processes_change_nothing(small, arms):
    one = power(small, [5, 8], simulations=12, arms=arms, seed=4)
    two = power(small, [5, 8], simulations=12, arms=arms, seed=4, workers=2)
    assert one.cells == two.cells


def test_a_tutor_s_people_are_played_beforehand():
    study = study_of("adaptive-or-plan", rounds=4)
    made = make_arms(study)
    stage = with_tutored_banks(make_stage(study, made, 2), assumptions(study)[:1], seed=0)
    bank = stage.bank[0]
    trials = len(study.protocol.trials)
    assert bank.which.shape == (1, 2, DRAWS, trials)
    assert np.isfinite(bank.answers).all()
    training = [t.number for t in study.protocol.trials if t.training is not None]
    sizes = {len(stage.sets[i]) for i in np.unique(bank.which[..., training])}
    assert sizes <= {0, 1}
    kinds = assumptions(study)[:1]
    rng = np.random.default_rng(0)
    records = played(stage, kinds, recruited(stage, kinds, 2, rng), rng)
    mine = records.arms == "adaptive"
    assert records.shown[mine][:, training].sum(axis=-1).max() <= 1


def test_shares_have_wilson_intervals():
    share = Share.counted(8, 10)
    # Wilson, by hand: (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)
    z = 1.959963984540054
    middle, wide = 0.8 + z**2 / 20, z * np.sqrt(0.8 * 0.2 / 10 + z**2 / 400)
    assert share.low == pytest.approx((middle - wide) / (1 + z**2 / 10))
    assert share.high == pytest.approx((middle + wide) / (1 + z**2 / 10))


def test_what_simulations_share_widens_their_intervals():
    alone = Share.counted(100, 200)
    wide = Share.counted(100, 200, 0.25)
    # At one half quantiles are 0, and the interval is symmetric.
    z = np.hypot(stats.norm.ppf(alone.high), 1.96 * 0.5)
    assert wide.high == pytest.approx(stats.norm.cdf(z))
    assert wide.low == pytest.approx(1.0 - wide.high)
    assert Share.counted(100, 200, 1e-12).low == pytest.approx(alone.low, abs=1e-6)
    for hits in (0, 200):
        assert 0.0 < Share.counted(hits, 200, 0.1).high <= 1.0


def test_banks_are_shared_by_the_arms_that_have_one():
    study = study_of("deskilling", rounds=4)
    run = _Simulations(study, make_arms(study), 10, 0)
    kinds = assumptions(study)
    assert run._shared(kinds[:1]) == pytest.approx(1.0 / DRAWS)
    shares = np.array([0.4, 0.2, 0.15, 0.15, 0.1])
    assert run._shared(kinds) == pytest.approx(np.sum(shares**2) / DRAWS)
    half = study_of("deskilling", rounds=4, analysis={"compare": ["teaches", "fixed"]})
    assert _Simulations(half, run.arms, 10, 0)._shared(kinds[:1]) == pytest.approx(0.5 / DRAWS)
    plain = study_of(rounds=12)
    assert _Simulations(plain, make_arms(plain), 10, 0)._shared(kinds) == 0.0


@pytest.mark.slow
def test_intervals_cover_what_other_banks_give():
    """Who never learns differs by chance only: the level, whatever bank people come from."""
    study = study_of("deskilling", rounds=3, assumed={"drop_out": 0.0, "careless": 0.0})
    made = make_arms(study)
    (never,) = (kind for kind in assumptions(study) if kind.name == "no-learning")
    run = [
        _Simulations(study, made, 60, seed).of([("no-learning", (never,))], [10])[0].cells[0].power
        for seed in range(20)
    ]
    assert np.mean([share.share for share in run]) == pytest.approx(0.05, abs=0.025)
    assert sum(share.low <= 0.05 <= share.high for share in run) >= 17


def test_numbers_that_make_no_sense_are_refused_together(small):
    with pytest.raises(pr.errors.InvalidInput) as error:
        power(small, [1], simulations=2, target=1.5)
    assert len(error.value.faults) == 3


def test_the_command_line(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(from_template("plan-or-fixed", "try", 1).replace("rounds = 60", "rounds = 50"))
    ask = ["study", "power", str(path), "--people", "4,6", "--simulations", "10"]
    done = RUNNER.invoke(app, [*ask, "--json", "--plot", str(tmp_path / "power.svg")])
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert {cell["kind"] for cell in found["cells"]} >= {"delta-rule", MIXTURE}
    assert (tmp_path / "power.svg").read_text().startswith("<?xml")
    assert RUNNER.invoke(app, ["study", "power", str(path), "--people", "x"]).exit_code == 2


def cell(people, hits, of=200):
    return Cell("everybody", people, Share.counted(hits, of), 0.0, 0.0, 0.0, 0)


def test_the_size_to_try_next_is_where_the_target_is_passed():
    # Power .5 at 40 and .98 at 120: quantiles 1.96 and 4.01, and 3.00 is wanted for .85.
    ends = [40**0.5, 120**0.5]
    signals = [1.959964, 1.959964 + stats.norm.ppf(0.98)]
    root = np.interp(1.959964 + stats.norm.ppf(0.85), signals, ends)
    assert _next_size([cell(40, 100), cell(120, 196)], 0.8, 0.05) == int(np.ceil(root**2))
    # Known well enough, and nothing between two sizes.
    assert _next_size([cell(40, 100), cell(80, 170)], 0.8, 0.05) is None
    assert _next_size([cell(40, 100), cell(41, 200)], 0.8, 0.05) is None
    # No sign of an effect; an effect whose size is beyond or below what was tried.
    assert _next_size([cell(40, 12)], 0.8, 0.05) is None
    assert _next_size([cell(40, 100)], 0.8, 0.05) == int(np.ceil(40 * (2.996397 / 1.959964) ** 2))
    assert _next_size([cell(40, 30)], 0.8, 0.05) == 160
    assert 2 <= _next_size([cell(40, 200)], 0.8, 0.05) < 40
    assert _next_size([cell(2, 200)], 0.8, 0.05) is None


def easy():
    """Two arms that differ much, and people who answer nearly without scatter."""
    data = study_of(rounds=12, assumed={"scatter": 0.2}).to_dict()
    data["assumed"]["kind"] = [{"human": "by-showings", "rate": 0.2}]
    data["arm"] = [
        {"name": "plan", "policy": "sets", "sets": [{"show": ["blue"], "rounds": 12}]},
        {"name": "fixed", "policy": "sets", "sets": [{"show": ["amber"], "rounds": 12}]},
    ]
    return Study.from_dict(data)


@pytest.mark.full
def test_the_size_that_is_named_was_simulated_and_is_not_too_large():
    found = power(easy(), [3, 30], simulations=40, seed=3)
    size = found.needed("by-showings 0.2")
    assert 3 < size < 30
    (there,) = (each for each in found.cells if each.people == size)
    assert 0.8 <= there.power.share <= 0.9
    assert there.power.of == 40
    assert [each.people for each in found.cells] == sorted(each.people for each in found.cells)


def check_decisive_size(simulations):
    study = study_of("decisive")
    found = power(study, [20, 40], simulations=simulations, seed=5)
    size = found.needed()
    assert size is not None
    # Simulated once more, by another seed.
    run = _Simulations(study, make_arms(study), simulations, seed=77)
    (again,) = run.of([(MIXTURE, assumptions(study))], [size])
    return again.cells[0].power


@pytest.mark.slow
def test_the_recommended_size_has_the_power_that_is_promised():
    assert 0.75 <= check_decisive_size(200).share <= 0.9


@pytest.mark.full
def test_the_recommended_size_is_about_right_in_a_few_simulations():
    confirmed = check_decisive_size(25)
    assert confirmed.low <= 0.9
    assert confirmed.high >= 0.75


def test_noise_is_reported(small, arms):
    found = power(small, [6], simulations=10, arms=arms, seed=1)
    (noise,) = found.noise
    assert noise.kind == "random answers"
    assert noise.kind not in {each.kind for each in found.cells}
    assert noise.power.share <= 0.3
    assert "If everybody answered at random: p below 0.05 in" in in_words(found)
    assert noise_in_words(small, arms).startswith("If everybody answered at random")


@pytest.mark.full
def test_noise_is_told_apart_in_the_decisive_experiment():
    found = power(study_of("decisive"), [15], simulations=10, seed=1)
    told = {each.kind: each for each in found.told}
    assert told["random answers"].unrelated.share > 0.85
    assert told["random answers"].outcomes.share + told["random answers"].others.share < 0.05
    for learner in ("delta-rule 0.05", "by-showings 0.05"):
        assert told[learner].unrelated.share < 0.05
    assert found.noise[0].power.share == 0.0
    assert "neither: answers do not depend on the tests" in in_words(found)


def test_random_answers_stay_within_their_limits_and_ignore_everything():
    study = study_of()
    (member,) = noise(study).members
    limits = study.configuration.outcome.low, study.configuration.outcome.high
    mean = study.problem.world.units.outcome_mean
    member.human.reset(np.random.default_rng(4))
    answers = []
    for _ in range(2000):
        answers.append(mean + member.human.predict((0,), np.array([1.0])))
        assert mean + member.human.predict((1,), np.array([9.0])) == answers[-1]
        member.human.feedback((0,), np.array([1.0]), 3.0)
    assert stats.kstest(answers, stats.uniform(limits[0], limits[1] - limits[0]).cdf).pvalue > 0.01


@pytest.mark.slow
def test_the_decisive_experiment_is_right_in_four_of_five():
    # rho .8, scatter .6 sd, rate .05, 48 rounds; whoever is analysed, of both kinds. Places have
    # cases of their own, so that there must be many of them.
    study = study_of("decisive")
    found = power(study, [150], simulations=10, seed=11)
    told = {each.kind.split()[0]: each for each in found.told}
    by_outcomes, by_showings = told["delta-rule"], told["by-showings"]
    for right, wrong in (
        (by_outcomes.outcomes, by_outcomes.others),
        (by_showings.others, by_showings.outcomes),
    ):
        assert right.of > 1250
        assert right.low >= 0.8
        assert wrong.high <= 0.03
