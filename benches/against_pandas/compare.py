#!/usr/bin/env python3
"""Reads a sweep of a million rows in full columns (146 MB) here, until the measured winners are known, and in pandas,
which reads it and takes the median of each configuration at each size. Prints the processor time of each, in turns.

Run in the project's root: python3 benches/against_pandas/compare.py
The sweep is made from public/examples/simulated_sweep.csv: each row again and again, with 2 % noise. pandas is installed
into a virtual environment under target/ where the running Python has none. Exit code 1: the winners took more
processor time than pandas, or fewer than 100 MB were read in a second of it.
"""

import importlib.util
import os
import random
import resource
import subprocess
import sys
import venv
from pathlib import Path

ROWS = 1_000_000
ROUNDS = 3
LEAST_MB_PER_S = 100
OUT = Path("target/against_pandas")
SWEEP = OUT / "sweep.csv"
PANDAS = """
import sys, pandas
table = pandas.read_csv(sys.argv[1])
by = ["collective", "num_nodes", "num_gpus", "size_bytes", "algo", "proto", "nchannels"]
print(len(table), len(table.groupby(by)[["busbw_ip", "busbw_oop"]].median()))
"""


def python_with_pandas():
    if importlib.util.find_spec("pandas"):
        return sys.executable
    python = OUT / "venv/bin/python"
    if not python.exists():
        venv.create(OUT / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "pandas==3.*"], check=True)
    return str(python)


def make_sweep():
    head, *rows = Path("public/examples/simulated_sweep.csv").read_text().splitlines()
    columns = head.split(",")
    places = [
        [columns.index(f"time_{side}_us"), columns.index(f"algbw_{side}"), columns.index(f"busbw_{side}")]
        for side in ("oop", "ip")
    ]
    rows = [row.split(",") for row in rows]
    noise = random.Random(1)
    with SWEEP.open("w") as out:
        out.write(head + "\n")
        for number in range(ROWS):
            row = list(rows[number % len(rows)])
            row[0] = f"simulated_{1 + number // len(rows)}"
            for time, *bandwidths in places:
                factor = 1 + noise.gauss(0, 0.02)
                row[time] = f"{float(row[time]) * factor:.2f}"
                for bandwidth in bandwidths:
                    row[bandwidth] = f"{float(row[bandwidth]) / factor:.4f}"
            out.write(",".join(row) + "\n")


def processor_s(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, printed


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--quiet", "--release", "--example", "first_answer"], check=True)
    python = python_with_pandas()
    if not SWEEP.exists():
        make_sweep()
    (OUT / "groups.py").write_text(PANDAS)
    ours = [os.fspath(Path("target/release/examples/first_answer")), SWEEP]
    theirs = [python, OUT / "groups.py", SWEEP]
    imports = [python, "-c", "import pandas"]
    times = {"here": [], "pandas": [], "import pandas": []}
    for _ in range(ROUNDS):
        for name, command in (("here", ours), ("pandas", theirs), ("import pandas", imports)):
            times[name].append(processor_s(command))
    best = {name: min(seconds for seconds, _ in runs) for name, runs in times.items()}
    size_mb = SWEEP.stat().st_size / 1e6
    pandas_s = best["pandas"] - best["import pandas"]
    print(f"here {best['here']:.2f} s ({times['here'][0][1]} rows and workloads), {size_mb / best['here']:.0f} MB/s")
    print(f"pandas {pandas_s:.2f} s without its import ({times['pandas'][0][1]} rows and groups)")
    print(f"ratio {best['here'] / pandas_s:.2f}")
    sys.exit(best["here"] > pandas_s or size_mb / best["here"] < LEAST_MB_PER_S)


if __name__ == "__main__":
    main()
