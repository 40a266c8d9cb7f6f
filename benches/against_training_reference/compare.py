#!/usr/bin/env python3
"""Trains the regressors of a cluster with scikit-learn and XGBoost, with the settings that estimate-train-time publishes
beside the samples, and prints how long that takes: all that the example of 7 billion parameters needs, and all of the
cluster. Where `cargo bench --bench training_time` runs, the same regressors of ours follow, trained natively on one
thread, and the ratio. What the page takes is printed by `cargo xtask bench` (speed::training_time).

Run in the project's root: python3 benches/against_training_reference/compare.py FOLDER [--rounds N] [--threads N] [--only-reference]
FOLDER holds operator/ and nccl/ of one cluster (Perlmutter, Vista). The best of N rounds (5) counts: on a busy machine
boosted trees stall. numpy, pandas, scikit-learn and xgboost are needed; without them nothing is compared, and it says so.
"""

import argparse
import ast
import csv
import re
import subprocess
import sys
import time
from pathlib import Path

# b, l, dim and so on are columns of the samples; the vocabulary is the reference's.
FEATURES = {
    "embedding": lambda c, v: (c["b"] * c["l"], v, c["dim"]),
    "linear1": lambda c, v: (c["l"] * c["b"], c["dim"], 3 * c["dim"] // c["mp"]),
    "linear2": lambda c, v: (c["l"] * c["b"], c["dim"] // c["mp"], c["dim"]),
    "linear3": lambda c, v: (c["l"] * c["b"], c["dim"], 4 * c["dim"] // c["mp"]),
    "linear4": lambda c, v: (c["l"] * c["b"], 4 * c["dim"] // c["mp"], c["dim"]),
    "linear_final": lambda c, v: (c["l"] * c["b"], c["dim"], v),
    "gelu": lambda c, v: (c["l"], c["b"], 4 * c["dim"] // c["mp"]),
    "RoPE": lambda c, v: (c["l"], c["b"], c["h"] // c["mp"], c["dim"] // c["h"]),
    "flash_atten": lambda c, v: (c["b"], c["l"], c["h"] // c["mp"], c["dim"] // c["h"]),
    "fillmask": lambda c, v: (c["b"], c["h"] // c["mp"], c["l"], c["dim"]),
    "baddbmm": lambda c, v: (c["b"] * (c["h"] // c["mp"]), c["l"], c["dim"] // c["h"], c["l"]),
    "bmm": lambda c, v: (c["b"] * (c["h"] // c["mp"]), c["l"], c["l"], c["dim"] // c["h"]),
    "softmax": lambda c, v: (c["b"], c["h"] // c["mp"], c["l"], c["l"]),
    "ScaledUpperTriangMaskedSoftmax": lambda c, v: (c["b"] * c["h"] // c["mp"], c["l"], c["l"]),
    "parallel_cross_entropy_128": lambda c, v: (c["b"], c["l"], v),
}
# What the example asks (pp 4, mp 2, dp 2, 4 GPUs a node).
OF_EXAMPLE = {
    "embedding", "RMSlayernorm", "linear1", "RoPE", "flash_atten", "linear2", "linear3", "gelu", "linear4",
    "linear_final", "parallel_cross_entropy_128", "res_add", "firstStage_optimizer", "middleStage_optimizer",
    "lastStage_optimizer", ("allreduce", 1, 2), ("allreduce_large", 1, 2), ("allgather_large", 1, 2), ("p2p", 2, 1),
}


def tasks(folder):
    """Names, features, target, family and settings of all regressors, and whether the example needs them."""
    import numpy
    import pandas

    def read(path):
        return pandas.read_csv(path).astype(float)

    found = []
    for kind in ("operator", "nccl"):
        config = next(path for path in (folder / kind).glob("*.csv") if "_" not in path.stem)
        for row in csv.DictReader(open(config)):
            name, precision = row["Function"], row["Precision"]
            stem = f"{row['GPU']}_{name}_{precision}"
            settings = ast.literal_eval(row["Best_config"])
            if kind == "operator":
                table = read(folder / kind / f"{stem}.csv")
                inputs = [column for column in table.columns if not column.endswith("dur(us)")]
                columns = {column: table[column].to_numpy() for column in inputs}
                padded = -(-50257 // (128 * columns["mp"])) * 128 if "mp" in columns else None
                make = FEATURES.get(name)
                features = make(columns, padded) if make else tuple(columns[column] for column in inputs)
                is_forward = row["Propagation"] == "fwd" and "F_dur(us)" in table
                target = table["F_dur(us)"] if is_forward else table.iloc[:, -1]
                asked, label = name in OF_EXAMPLE, f"{name} {row['Propagation']}"
            else:
                nodes, per_node = int(row["Nodes"]), int(row["GPUsPerNode"])
                one = nodes > 0
                table = read(folder / kind / (f"{stem}_{nodes}_{per_node}.csv" if one else f"{stem}.csv"))
                features = (table["shape"],) if one else (table["shape"], table["nodes"], table["GPUsPerNode"])
                target = table.iloc[:, -1]
                asked, label = (name, nodes, per_node) in OF_EXAMPLE, f"{name} {nodes}x{per_node}"
            found.append((label, numpy.column_stack(features), numpy.asarray(target), row["Best_model"], settings, asked))
    return found


def train(features, target, family, settings, threads):
    from sklearn.ensemble import RandomForestRegressor
    from xgboost import XGBRegressor

    made = RandomForestRegressor if family == "rforest" else XGBRegressor
    # More threads than free cores make boosting stall.
    made(**settings, random_state=42, n_jobs=threads).fit(features, target)


def ours():
    """Milliseconds by mode and selection, as the bench prints them: `parity example_p: 31 regressors in 1.79s, …`."""
    bench = ["cargo", "bench", "--quiet", "--bench", "training_time", "--", "--nothing-of-this-name"]
    said = subprocess.run(bench, capture_output=True, text=True)
    line = re.compile(r"^(\w+) (\w+): (\d+) regressors in ([\d.]+)(m?s)", re.M)
    return {(mode, which): (int(count), float(value) * (1 if unit == "s" else 1e-3))
            for mode, which, count, value, unit in line.findall(said.stdout)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only-reference", action="store_true")
    options = parser.parse_args()
    folder, rounds, threads = options.folder, options.rounds, options.threads
    try:
        import numpy, pandas, sklearn, xgboost
    except ImportError as missing:
        print(f"skipped: {missing.name} is not installed (pip install numpy pandas scikit-learn xgboost)")
        return
    all_tasks = tasks(folder)
    best = {"example_p": float("inf"), "all": float("inf")}
    for _ in range(rounds):
        spent = {"example_p": 0.0, "all": 0.0}
        for label, features, target, family, settings, asked in all_tasks:
            began = time.perf_counter()
            train(features, target, family, settings, threads)
            took = time.perf_counter() - began
            spent["all"] += took
            spent["example_p"] += took if asked else 0.0
        best = {which: min(best[which], spent[which]) for which in best}
        print(", ".join(f"{which} {spent[which]:.2f} s" for which in spent), flush=True)
    count = {"all": len(all_tasks), "example_p": sum(task[-1] for task in all_tasks)}
    print(f"scikit-learn {sklearn.__version__}, xgboost {xgboost.__version__}, {folder.name}, best of {rounds}, {threads} threads:")
    own = {} if options.only_reference else ours()
    for which in best:
        print(f"  {which}: {count[which]} regressors in {best[which]:.2f} s, a fifth is {best[which] / 5:.2f} s")
        for mode in ("parity", "default"):
            if (mode, which) in own:
                regressors, seconds = own[mode, which]
                print(f"    ours, {mode}, natively, one thread: {regressors} in {seconds:.2f} s, {best[which] / seconds:.1f} times as fast")


if __name__ == "__main__":
    main()
