"""Prints the tables of docs/reproduction.md: reproduce.py [--mixnet PROGRAM] [TABLE ...]."""

import argparse
import csv
import functools
import json
import pathlib
import random
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
STUDY = "examples/reproduction/"
CHANGING = "examples/mixtral-8x22b-1024gpu.toml"
AS_8X7B = ("model.name=mixtral-8x7b", "parallelism.tp=4", "parallelism.pp=4", "parallelism.dp=8")
EVEN = ("routing.skew=0",)
EP32 = ("model.experts=32", "parallelism.ep=32", "parallelism.dp=8")
PRODUCTION = ("cluster.servers=16", "parallelism.dp=1", "cluster.gpu=h800")
RATES = (100, 200, 400, 800)
SPLIT, RELEASED = "mixnet-never", "mixnet-never-released"
ORDER = {"F": "fat-tree", "R": "rail-optimized", "M": RELEASED, "T": "topoopt"}
# (model, what its experts' popularity is, settings)
CASES = (("mixtral-8x22b", "8x8 matrix", ()), ("mixtral-8x7b", "8x8 matrix", ()),
         ("llama-moe", "even", EVEN), ("llama-moe", "log-normal", ()),
         ("qwen-moe", "even", EVEN), ("qwen-moe", "log-normal", ()))


def call(*args):
    done = subprocess.run([PROGRAM, *args, "--json"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return json.loads(done.stdout)


@functools.lru_cache(maxsize=None)
def compare(scenario, *settings):
    result = call("compare", scenario, *(a for s in settings for a in ("--set", s)))
    return {f["name"]: f for f in result["fabrics"]}


def study(name, *settings, gbps=400):
    return compare(f"{STUDY}{name}.toml", f"cluster.nic_rate={gbps}Gbps", *settings)


def table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in row) + " |")


@functools.lru_cache(maxsize=None)
def published(model, gbps):
    with open(ROOT / STUDY / "normalized_iteration_time.csv", encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if row["Model"].lower().replace("*", "x").replace(" ", "-") == model:
                if float(row["Bandwidth"]) == gbps:
                    names = ("fattree", "rail-optimized", "mixnet", "topoopt")
                    return {k: float(row[n]) for k, n in zip(ORDER, names)}
    raise KeyError(model)


def trends():
    rows = []
    for model, routing, settings in CASES:
        for gbps in RATES:
            runs = study(model, *settings, gbps=gbps)
            ours = {k: runs[n]["iteration_s"] for k, n in ORDER.items()}
            theirs = published(model, gbps)
            both = [f"{ours[a] / ours[b]:.3f} / {theirs[a] / theirs[b]:.3f}"
                    for a, b in ("RF", "MF", "TM")]
            # Equal to a thousandth counts as equal, in the order F R M T.
            order = ["".join(sorted(ORDER, key=lambda k: round(t[k] / t["F"], 3)))
                     for t in (ours, theirs)]
            split = runs[SPLIT]["iteration_s"] / ours["F"]
            rows.append([model, routing, gbps, *both, split, " / ".join(order)])
    table(["ours / published", "routing", "Gb/s", "rail ÷ fat-tree", "MixNet ÷ fat-tree",
           "TopoOpt ÷ MixNet", "MixNet split ÷ fat-tree", "order"], rows)


def perf_per_dollar():
    rows = [[m, r, *(f"{f[RELEASED]['perf_per_dollar']:.2f} / {f[SPLIT]['perf_per_dollar']:.2f}"
                     for f in (study(m, *s, gbps=g) for g in RATES))] for m, r, s in CASES]
    for model, extra in (("mixtral-8x22b", ()), ("mixtral-8x7b", AS_8X7B)):
        rows.append([model, "changing, re-wired and waiting"])
        for g in RATES:
            result = compare(CHANGING, f"cluster.nic_rate={g}Gbps", *extra)["mixnet"]
            rows[-1].append(f"- / {result['perf_per_dollar']:.2f}")
    table(["released / split", "routing", *(f"{g} Gb/s" for g in RATES)], rows)


def network_part():
    def part(at_400, at_800):
        return f"{2 * (at_400 - at_800) / at_400:.1%}"
    table(["fat-tree at 400 Gb/s", "routing", "ours", "published"],
          [[m, r, part(*(study(m, *s, gbps=g)["fat-tree"]["iteration_s"] for g in (400, 800))),
            part(*(published(m, g)["F"] for g in (400, 800)))] for m, r, s in CASES])


def share():
    names = ("fat-tree", "rail-optimized", "topoopt", SPLIT)
    runs = [("mixtral-8x7b, 128 H800", study("mixtral-8x7b", *PRODUCTION)),
            ("the same, measured compute", compare("examples/mixtral-8x7b-128gpu-measured.toml"))]
    runs += [(f"{m}, {r}", study(m, *s)) for m, r, s in CASES[2:]]
    runs.append(("qwen-moe, EP32, log-normal", study("qwen-moe", *EP32)))
    table(["all-to-all share", *names],
          [[title, *(f"{f[n]['all_to_all_share']:.1%}" for n in names)] for title, f in runs])
    rail = runs[0][1]["rail-optimized"]
    passes = 8 * (8 + 3)  # layers of a stage; micro-batches and bubble
    path = {k: v * 1e3 / passes for k, v in rail["critical_path_s"].items()}
    layer = {"attention": path["attention"] / 3, "experts": path["expert"] / 3,
             "tensor all-reduces": path["tensor-parallel"] / 2,
             "one all-to-all": rail["mean_all_to_all_s"] * 1e3}
    print("\none forward layer, ms:", ", ".join(f"{k} {v:.2f}" for k, v in layer.items()))


def traffic():
    shapes = (("mixtral-8x22b", 8, 2), ("mixtral-8x7b", 4, 2), ("llama-moe", 1, 4),
              ("qwen-moe", 1, 4))
    kinds, rows = ("tensor", "expert", "pipeline", "gradient"), []
    for model, tp, top_k in shapes:
        sent = study(model)["fat-tree"]["traffic_bytes"]
        # Ring bytes 2 (tp - 1)(1 + top_k) per layer become two equal buffers on each of tp GPUs.
        scale = tp / ((tp - 1) * (1 + top_k)) if tp > 1 else 0
        held = sent | {"tensor": sent["tensor"] * scale, "gradient": sent["gradient"] / 2}
        for name, counts in (("sent", sent), ("buffers", held)):
            total = sum(counts[k] for k in kinds)
            rows.append([model, name, *(f"{counts[k] / total:.1%}" for k in kinds)])
    table(["bytes", "counted", "TP", "EP", "PP", "DP"], rows)


def prototype():
    rows = []
    for name, before, after in (("mixtral", 11.5, 9.8), ("llama-moe", 25.3, 24.2),
                                ("qwen-moe", 14.6, 13.8)):
        for even in ((), EVEN) if name != "mixtral" else ((),):
            f = compare(f"{STUDY}prototype-{name}.toml", *even)
            eps, mixnet, old = (f[n]["iteration_s"] for n in ("fat-tree", SPLIT, RELEASED))
            routing = "even" if even else "8x8 matrix" if name == "mixtral" else "log-normal"
            rows.append([name, routing, f"{before} → {after}", before / after,
                         f"{eps:.2f} → {mixnet:.2f}", eps / mixnet, eps / old])
    table(["prototype", "routing", "published, s", "ratio", "ours, s", "ratio",
           "ratio, released rule"], rows)


def rewiring():
    hot = ("routing.hot_experts=2", "routing.hot_share=0.6")
    rows = []
    for case, extra in (("8x22B", ()), ("8x22B, 2 hot experts per source", hot),
                        ("8x7B", AS_8X7B)):
        base = compare(CHANGING, *extra)
        runs = [("never", base[SPLIT]), ("block", base["mixnet"])]
        runs += [(d, compare(CHANGING, *extra, f"control.dispatch={d}")["mixnet"])
                 for d in ("predict", "reuse")]
        rows += [[case, d, f["switches"], f["exposed_switching_s"], f["critical_path_s"][
            "all-to-all"], f["iteration_s"] / base["fat-tree"]["iteration_s"]] for d, f in runs]
    table(["changing routing", "re-wiring", "switches", "exposed, s", "all-to-all, s",
           "÷ fat-tree"], rows)


def delay():
    slow = ("compute.efficiency=0.04",)
    rows = []
    for d in ("1us", "100us", "1ms", "10ms", "25ms", "100ms", "1s", "5.67s", "10s"):
        at = f"mixnet.switch_time={d}"
        runs = (compare(CHANGING, at), compare(CHANGING, at, "control.dispatch=reuse"),
                compare(CHANGING, at, *slow))
        fixed = study("mixtral-8x22b", at)["mixnet-block"]["iteration_s"]
        rows.append([d, *(f["mixnet"]["iteration_s"] for f in runs[:2]),
                     runs[0][SPLIT]["iteration_s"], fixed,
                     *(runs[2][n]["iteration_s"] for n in ("mixnet", SPLIT))])
    table(["switch time", "block", "reuse", "never", "fixed routing, block",
           "10 × compute, block", "10 × compute, never"], rows)


def scaling():
    names = ("fat-tree", "rail-optimized", SPLIT, "topoopt")
    rows = []
    for servers, copies in ((16, 1), (32, 2), (128, 8), (4096, 256)):
        f = study("mixtral-8x7b", f"cluster.servers={servers}", f"parallelism.dp={copies}")
        rows.append([servers * 8, *(f[n]["iteration_s"] for n in names),
                     f[SPLIT]["perf_per_dollar"]])
    table(["GPUs", *(f"{n}, s" for n in names), "MixNet perf/$"], rows)


@functools.lru_cache(maxsize=None)
def swept(name):
    """Points of examples/sweeps/NAME.toml in order: [(values, {fabric: figures})]."""
    done = subprocess.run([PROGRAM, "sweep", f"examples/sweeps/{name}.toml", "--jobs", "1"],
                          cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [(list(r["point"].values()), {f["name"]: f for f in r["fabrics"]}) for r in lines]


def sweep_alpha():
    rows = []
    for (alpha,), f in swept("alpha"):
        base = f["fat-tree"]["iteration_s"]
        rows.append([alpha, f[SPLIT]["cost_usd"] / 1e6, f[SPLIT]["iteration_s"] / base,
                     f[SPLIT]["perf_per_dollar"], f["mixnet"]["iteration_s"] / base,
                     f["mixnet"]["perf_per_dollar"]])
    table(["alpha", "cost, M$", "never ÷ fat-tree", "never perf/$", "block ÷ fat-tree",
           "block perf/$"], rows)


def sweep_delay():
    rows = {}
    for (time, cadence), f in swept("delay"):
        row = rows.setdefault(time, [time])
        row.append(f["mixnet"]["iteration_s"] / f[SPLIT]["iteration_s"])
    table(["switch time", "per layer ÷ never", "per iteration ÷ never"], rows.values())


def sweep_scale():
    rows = []
    for (servers, _), f in swept("scale"):
        base = f["fat-tree"]["iteration_s"]
        rows.append([servers * 8, base, *(f[n]["iteration_s"] / base for n in (
            "rail-optimized", "topoopt", SPLIT)), f[SPLIT]["perf_per_dollar"]])
    table(["GPUs", "fat-tree, s", "rail ÷ fat-tree", "topoopt ÷ fat-tree", "never ÷ fat-tree",
           "never perf/$"], rows)


def sweep_skew():
    rows = []
    for (skew, time), f in swept("skew"):
        if time == "25ms":
            base = f["fat-tree"]["iteration_s"]
            rows.append([skew, base, *(f[n]["iteration_s"] / base for n in (
                "fat-tree-oversubscribed", "topoopt", SPLIT, "mixnet")),
                f[SPLIT]["perf_per_dollar"]])
    table(["sigma", "fat-tree, s", "3:1 ÷ fat-tree", "topoopt ÷ fat-tree", "never ÷ fat-tree",
           "block, 25 ms ÷ fat-tree", "never perf/$"], rows)


def sweep_ep():
    rows = []
    for (ep, _, _, skew), f in swept("ep"):
        base = f["fat-tree"]["iteration_s"]
        rows.append([ep, skew, base, *(f[n]["iteration_s"] / base for n in ("topoopt", SPLIT)),
                     f[SPLIT]["perf_per_dollar"]])
    table(["EP = servers of a region", "sigma", "fat-tree, s", "topoopt ÷ fat-tree",
           "never ÷ fat-tree", "never perf/$"], rows)


def failures():
    published_at = {("deepseek-r1", "nic"): "+3.3 %", ("deepseek-r1", "server"): "+6.5 %",
                    ("mixtral-8x22b", "gpu"): "+5.1 %"}
    rows = []
    for model in ("deepseek-r1", "mixtral-8x22b"):
        result = call("failures", f"examples/{model}-failures.toml")["fabrics"]
        mixnet, tree = ({r["failure"]: r["overhead"] for r in f["failures"]} for f in result)
        rows += [[model, what, published_at.get((model, what.split()[0]), ""),
                  f"{mixnet[what]:+.2%}", f"{tree[what]:+.2%}"]
                 for what in mixnet if what != "all of them"]
    table(["1,024 GPUs, 400 Gb/s", "broken", "published", "mixnet", "fat-tree"], rows)


def sweep_failures():
    base, rows = {}, {}
    for (broken, rate), f in swept("failures"):
        name = ", ".join(" ".join(map(str, b.values())) for b in broken) or "nothing: s"
        for fabric in ("mixnet", "fat-tree"):
            seconds = f[fabric]["iteration_s"]
            whole = base.setdefault((rate, fabric), seconds)
            rows.setdefault(name, [name]).append(
                f"{seconds / whole - 1:+.2%}" if broken else f"{seconds:.3f}")
    table(["broken", *(f"{fabric}, {rate}" for rate, fabric in base)], rows.values())


def write_flows(path, hosts, flows):
    lines = [f"{s}->{d} id {i} start 0 size {b}\n" for i, (s, d, b) in enumerate(flows, 1)]
    path.write_text(f"Nodes {hosts}\nConnections {len(flows)}\n" + "".join(lines))
    return path


def packet():
    draw = random.Random(2)
    with tempfile.TemporaryDirectory() as folder:
        shipped, made = ROOT / "tests/data/flows", pathlib.Path(folder)
        moe, perm = shipped / "moe_128_ep32_256K.cm", shipped / "perm_128_2M.cm"
        a2a = write_flows(made / "a2a_128_64K.cm", 128,
                          [(s, (s + k) % 128, 65536) for s in range(128) for k in range(1, 128)])
        rand8 = write_flows(made / "rand8_1024_1M.cm", 1024,
                            [(s, d + (d >= s), 1 << 20) for s in range(1024)
                             for d in draw.sample(range(1023), 8)])
        rows = []
        # Mean and largest completion of csg-htsim 841d9e7 in us.
        for path, gbps, engine, mean, last in (
                (moe, 100, "NDP", 642.7, 7121.2), (rand8, 100, "EQDS", 810.5, 1488.6),
                (a2a, 100, "NDP", 705.8, 739.1), (a2a, 100, "EQDS", 709.1, 768.9),
                (a2a, 400, "NDP", 184.9, 202.0), (perm, 100, "NDP", 203.8, 222.8),
                (perm, 100, "EQDS", 200.2, 210.3)):
            run = ("flows", "run", str(path), "--rate", f"{gbps}Gbps")
            full = call(*run)["completion_us"]
            bare = call(*run, "--latency", "0", "--headers", "off")["completion_us"]
            rows.append([path.stem, gbps, f"{engine} {mean} / {last}",
                         f"{full['mean']:.1f} / {full['max']:.1f}",
                         f"{full['mean'] / mean - 1:+.1%} / {full['max'] / last - 1:+.1%}",
                         f"{bare['max'] / last - 1:+.1%}"])
    table(["mean / largest completion, us", "Gb/s", "packets", "ours", "error",
           "largest, no headers or latency"], rows)


TABLES = (trends, perf_per_dollar, network_part, share, traffic, prototype, rewiring, delay,
          scaling, sweep_alpha, sweep_delay, sweep_scale, sweep_skew, sweep_ep, failures,
          sweep_failures, packet)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mixnet", default=str(ROOT / "build/release/mixnet"))
    parser.add_argument("tables", nargs="*", metavar="TABLE",
                        help="all, or some of " + ", ".join(t.__name__ for t in TABLES))
    arguments = parser.parse_args()
    PROGRAM = arguments.mixnet
    chosen = [t for t in TABLES if not arguments.tables or t.__name__ in arguments.tables]
    if len(chosen) < len(arguments.tables):
        parser.error("a table is one of " + ", ".join(t.__name__ for t in TABLES))
    for one in chosen:
        print(f"\n### {one.__name__}\n")
        one()
