#!/usr/bin/env python3
"""Trains the seed's boosting on the same simulated rows in scikit-learn (natively) and here (natively and in
WebAssembly under node), side by side, and prints the ratio of WebAssembly to scikit-learn.

Run in the project's root: python3 benches/against_sklearn/compare.py
Needs the wasm32 target, wasm-bindgen of the locked version, and node. scikit-learn is installed into a virtual
environment under target/ where the running Python has none. Exit code 1: WebAssembly took more than half as long.
"""

import importlib.util
import os
import subprocess
import sys
import venv
from pathlib import Path

FLOOR = 0.5
ROUNDS = 3
OUT = Path("target/against_sklearn")


def with_sklearn():
    """Goes on in a Python that has scikit-learn."""
    if importlib.util.find_spec("sklearn"):
        return
    python = OUT / "venv/bin/python"
    if not python.exists():
        venv.create(OUT / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "scikit-learn==1.9.*"], check=True)
    os.execv(python, [str(python), *sys.argv])


def build():
    example = ["cargo", "build", "--quiet", "--example", "boosting"]
    subprocess.run([*example, "--release"], check=True)
    # As the page is built.
    subprocess.run([*example, "--profile", "page", "--target", "wasm32-unknown-unknown"], check=True)
    wasm = "target/wasm32-unknown-unknown/page/examples/boosting.wasm"
    subprocess.run(["wasm-bindgen", "--target", "nodejs", "--out-dir", OUT, wasm], check=True)


def ours(command):
    """Seconds and R² by number of rows."""
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    cells = [line.split() for line in lines if line]
    return {int(rows): (float(seconds), float(r2)) for rows, seconds, r2 in cells}


def theirs(rows):
    """The best time of a fit, in seconds, and its R²."""
    import io
    import time

    import numpy
    from sklearn.ensemble import GradientBoostingRegressor

    native = ["target/release/examples/boosting", "--rows", str(rows)]
    text = subprocess.run(native, check=True, capture_output=True, text=True).stdout
    table = numpy.loadtxt(io.StringIO(text), delimiter=",")
    features, busbw = table[:, :-1], table[:, -1]
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        model = GradientBoostingRegressor(
            n_estimators=200, max_depth=6, learning_rate=0.1, min_samples_split=5, random_state=42
        ).fit(features, busbw)
        best = min(best, time.perf_counter() - begin)
    return best, model.score(features, busbw)


def main():
    with_sklearn()
    OUT.mkdir(parents=True, exist_ok=True)
    build()
    native = ours(["target/release/examples/boosting"])
    wasm = ours(["node", str(OUT / "boosting.js")])
    worst = 0.0
    print("  rows  scikit-learn s  native s  WebAssembly s  WebAssembly / scikit-learn   R² of each")
    for rows in native:
        seconds, r2 = theirs(rows)
        ratio = wasm[rows][0] / seconds
        worst = max(worst, ratio)
        print(
            f"{rows:6}  {seconds:14.3f}  {native[rows][0]:8.3f}  {wasm[rows][0]:13.3f}  {ratio:26.3f}"
            f"   {r2:.6f} {native[rows][1]:.6f} {wasm[rows][1]:.6f}"
        )
    if worst > FLOOR:
        sys.exit(f"WebAssembly may take {FLOOR} of scikit-learn's time, and took {worst:.2f}")


main()
