"""A script that carries out the registered analysis without us, filled in for one study."""

from __future__ import annotations

import json
import pprint
from importlib import resources
from typing import Any

import numpy as np

from preceptor.diagnosis.kind_posterior import SURE
from preceptor.study.config import Testing
from preceptor.study.measures import trials_of
from preceptor.study.significance import RESAMPLES
from preceptor.study.study import Study


def script(study: Study) -> str:
    """The text of `analysis.py` for a study."""
    text = (resources.files("preceptor.study") / "templates" / "analysis.py.txt").read_text("utf-8")
    title = json.dumps(study.configuration.title, ensure_ascii=False)[1:-1]
    values = pprint.pformat(registered(study), width=96, sort_dicts=False)
    return text.replace("@TITLE@", title.replace('\\"', "'")).replace("@REGISTERED@", values)


def registered(study: Study) -> dict[str, Any]:
    """What the script needs to know."""
    said = study.configuration
    tested = [i for i, block in enumerate(said.block, start=1) if isinstance(block, Testing)]
    measured = (
        np.flatnonzero(trials_of(study, said.analysis.measure)).tolist()
        if "error" in said.analysis.measure
        else []
    )
    return {
        **said.analysis.model_dump(mode="json"),
        "seed": said.seed,
        "resamples": RESAMPLES,
        "exclusions": said.exclusions.model_dump(mode="json"),
        "trials": len(study.protocol.trials),
        "measured_trials": measured,
        "first_test_block": tested[0] if tested else None,
        "last_test_block": tested[-1] if tested else None,
        "sure": SURE,
    }
