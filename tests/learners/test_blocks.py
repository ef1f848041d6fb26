"""Blocks: to files and back, and in words."""

from __future__ import annotations

import numpy as np
import pytest

import preceptor as pr
from preceptor.learners.diagnostic_blocks import (
    Block,
    BlockRound,
    decisive_design,
    draw_cases,
    pairs,
    probe,
    summary,
    teaching_round,
)
from preceptor.model.world import Units

BLOCK = Block(
    ("weight", "abdomen"),
    (
        BlockRound(("weight",), False, (95.5,)),
        BlockRound(("weight",), True),
        BlockRound(("weight",), True),
        BlockRound(("weight", "abdomen"), False, (95.5, 80.0)),
        BlockRound(("weight", "abdomen"), False, (64.0, 101.25)),
        BlockRound(("weight", "abdomen"), False, (95.5, 80.0)),
    ),
)


def test_there_and_back(tmp_path):
    path = tmp_path / "block.csv"
    BLOCK.write(path)
    assert Block.read(path, BLOCK.names) == BLOCK
    assert (len(BLOCK), BLOCK.probes, summary(BLOCK)) == (6, 4, "6 rounds, 4 of them probes")


def test_a_filled_in_schedule_is_a_log(tmp_path):
    lines = BLOCK.to_csv().splitlines()
    rows = [lines[0] + ",participant,prediction,outcome"]
    for line in lines[1:]:
        told = line.endswith("yes")
        number, shown, values, feedback = line.split(",")
        rows.append(f"{number},{shown},{values or '70'},{feedback},ann,20,{'19' if told else ''}")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    log = pr.data.Log.read(path, BLOCK.names)
    assert log.told.tolist() == [False, True, True, False, False, False]
    assert log.values[3].tolist() == [95.5, 80.0]


def test_words():
    words = BLOCK.in_words().splitlines()
    assert words[1] == "Rounds 2 to 3: show weight of any case, and tell the outcome afterward."
    assert words[2].startswith("Rounds 4 to 6: show weight 95.5 and abdomen 80, then weight 64 and")
    assert "in turn repeatedly, as probes" in words[2]


def test_all_faults_at_once():
    with pytest.raises(pr.errors.InvalidInput) as error:
        Block(("a", "b"), (BlockRound(("c",)), BlockRound(()), BlockRound(("a",), False, (1, 2))))
    assert len(error.value.faults) == 3
    with pytest.raises(pr.errors.InvalidInput, match="semicolon"):
        Block(("a;b",), (BlockRound(("a;b",)),)).to_csv()


def test_bad_files(tmp_path):
    path = tmp_path / "block.csv"
    for text, message in (
        ("a,b\n1,2\n", "must have round, shown"),
        ("round,shown,values,feedback\n1,weight,,maybe\n", "line 2: feedback is 'maybe'"),
        ("round,shown,values,feedback\n1,weight,x,no\n", "line 2: values 'x'"),
        ("round,shown,values,feedback\n1,wieght,,no\n", "did you mean 'weight'"),
    ):
        path.write_text(text)
        with pytest.raises(pr.errors.InvalidFile, match=message):
            Block.read(path, BLOCK.names)
    with pytest.raises(pr.errors.InvalidFile, match=r"must end in \.csv"):
        BLOCK.write(tmp_path / "block.txt")


def test_rounds_in_the_units_that_people_read():
    world = pr.World([0.0, 1.0], [[4.0, 1.6], [1.6, 1.0]], names=["a", "b"],
                     units=Units([50.0, 10.0], [3.0, 2.0]))  # fmt: skip
    block = [teaching_round(world, (0,)), probe(world, (0, 1), (2.0, -2.0))]
    # two standard deviations of 2 units of 3 above 50; two of 1 unit of 2 below 10
    assert block[1].values == (62.0, 6.0)
    rounds = draw_cases(world, block, 5, 0)
    assert np.all(rounds.values[:, 1] == [4.0, -2.0])
    assert np.all(rounds.values[:, 0, 1] == 0.0)
    assert np.all(np.isnan(rounds.outcomes[:, 1]))


def test_the_decisive_design():
    world = pr.World.equicorrelated([0.0, 1.0, 0.3], 0.8)
    [(weak, strong), *_] = pairs(world, [(0,), (1,), (2,)])
    assert (weak, strong) == ((0,), (1,))
    block = decisive_design(world, weak, strong, 40)
    assert len(block) == 40
    assert sum(each.feedback for each in block) == 30
    assert {each.show for each in block if each.feedback} == {("x1",)}
    assert not block[0].feedback
    assert not block[-1].feedback
