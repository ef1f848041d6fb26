"""An experiment of one's own: does exploration take longer for somebody who starts from zero?

python examples/own_experiment.py            in two processes
python examples/own_experiment.py --dask     on a Dask cluster on this machine
"""

import sys

import numpy as np

import preceptor as pr


def exploration(setting, seed):
    """One draw of one setting: how long the best plan explores, and what it costs."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(size=2)
    first = rng.uniform(size=2) if setting["start"] == "random" else np.zeros(2)
    world = pr.World.equicorrelated(truth, setting["rho"])
    problem = pr.Problem(world, pr.Learner(first, pr.Geometric(1.1)), 1, discount=0.95, horizon=120)
    plan = pr.solve(problem, "finite")
    return [{"length": plan.exploration_length, "value": plan.value}]


def main(*, dask: bool = False):
    """Run it, print the means, and give the table."""
    grid = tuple({"start": start, "rho": rho} for start in ("random", "zero") for rho in (0.5, 0.9))
    sweep = pr.paper.Sweep("starts", exploration, grid, draws=20, seed=1, batch=10)
    if dask:
        from distributed import Client, LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster) as client:
            frame = pr.paper.run_sweeps([sweep], client=client)
    else:
        frame = pr.paper.run_sweeps([sweep], workers=2)
    sys.stdout.write(f"{frame.groupby(['start', 'rho'])['length'].mean().unstack()}\n")
    return frame


if __name__ == "__main__":
    main(dask="--dask" in sys.argv)
