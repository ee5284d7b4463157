#!/usr/bin/env python3
"""Gains of placing and wiring together, per row of recorded and of synthetic loads, from `mixnet
place --policy joint`: completion of a dispatch over its bound. `--rows` prints every row."""

import argparse
import json
import math
import os
import random
import subprocess
import tempfile

SAME = 1e-9  # relative; less is rounding


def synthetic(rows, experts, sigma):
    """A CSV of log-normal loads with a fixed seed; returns its path."""
    draw = random.Random(1)
    handle, path = tempfile.mkstemp(suffix=".csv")
    with os.fdopen(handle, "w") as out:
        for _ in range(rows):
            out.write(",".join(str(round(1e4 * math.exp(sigma * draw.gauss(0, 1))))
                               for _ in range(experts)) + "\n")
    return path


def gains(mixnet, loads, gpus, slots, spread):
    command = [mixnet, "place", loads, "--policy", "joint", "--gpus", str(gpus), "--nodes", "8",
               "--slots", str(slots), "--alpha", "6", "--eps", "2", "--spread", str(spread),
               "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["layers"]


def summary(rows):
    """Means over the bound, and rows by what joint planning gains on place-then-wire."""
    count = len(rows)
    mean = [sum(r[key] / r["bound"] for r in rows) / count
            for key in ("wire_only", "place_then_wire", "completion")]
    ahead = [r for r in rows if r["completion"] < r["place_then_wire"] * (1 - SAME)]
    rest = [r for r in rows if r not in ahead]
    met = sum(r["completion"] <= r["bound"] * (1 + 1e-3) for r in rest)
    ordered = all(r["completion"] <= r["place_then_wire"] * (1 + SAME) and
                  r["place_then_wire"] <= r["wire_only"] * (1 + SAME) for r in rows)
    best = max((1 - r["completion"] / r["place_then_wire"] for r in rows), default=0)
    return mean, len(ahead), len(rest), met, ordered, best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mixnet", default="build/release/mixnet")
    parser.add_argument("--rows", action="store_true")
    args = parser.parse_args()
    made = [synthetic(12, 64, sigma) for sigma in (0.5, 1.0)]
    cases = [("OLMoE", "examples/data/olmoe_loads.csv", 64, 64),
             ("Mixtral", "examples/data/mixtral_loads.csv", 8, 8),
             ("log-normal 0.5", made[0], 64, 64), ("log-normal 1.0", made[1], 64, 64)]
    print("| loads | sigma of sources | wire only | place, then wire | joint | joint ahead "
          "| largest gain | not ahead, at the bound |")
    print("|---|---|---|---|---|---|---|---|")
    for name, loads, gpus, slots in cases:
        for spread in (0, 0.5, 1.0):
            rows = gains(args.mixnet, loads, gpus, slots, spread)
            mean, ahead, rest, met, ordered, best = summary(rows)
            assert ordered, f"{name}: joint <= place, then wire <= wire only does not hold"
            print(f"| {name} | {spread} | {mean[0]:.3f} | {mean[1]:.3f} | {mean[2]:.3f} | "
                  f"{ahead} of {len(rows)} | {100 * best:.1f} % | {met} of {rest} |", flush=True)
            for i, row in enumerate(rows if args.rows else []):
                gain = 100 * (1 - row["completion"] / row["place_then_wire"])
                bound = row["completion"] / row["bound"]
                print(f"    row {i}: {gain:.2f} % ahead, joint {bound:.4f} of the bound")
    for path in made:
        os.remove(path)


if __name__ == "__main__":
    main()
