#!/usr/bin/env python3
"""Compares the times of whole models: bundles on devices, or ONNX Runtime.

    build/venv/bin/python bench/compare_models.py build/demo/bundle@cpu:0 \\
        onnxruntime:build/demo/resnet50.onnx
    python3 bench/compare_models.py build/demo/opencl/bundle@opencl:0 build/demo/bundle@cpu:0

Samples follow the order A B B A. Each is a process of its own, which runs the model --repeat times
after a warm-up and gives the median. Prints one JSON object; `ratio` is the time of the second over
that of the first: above 1 the first is faster. ONNX Runtime uses all optimisations, two threads,
and no spinning.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def seconds_of_bundle(spec, options):
    bundle, device = spec.rsplit("@", 1)
    out = subprocess.run(
        [
            options.assay,
            "run",
            bundle,
            "--device",
            device,
            "--repeat",
            str(options.repeat),
            "--patience",
            "0",  # ONNX Runtime does not repeat either
            "--format",
            "json",
        ],
        capture_output=True,
        text=True,
    )
    if out.returncode != 0:
        sys.exit(f"compare_models: {spec}: {out.stderr.strip()}")
    return json.loads(out.stdout)["measured_s"]


def seconds_of_onnxruntime(model, options):
    script = ROOT / "examples/models/reference.py"
    out = subprocess.run(
        [
            sys.executable,
            script,
            model,
            "--output-dir",
            options.scratch,
            "--no-spinning",
            "--time",
            str(options.repeat),
            *(f"--dim={d}" for d in options.dim),
            *(f"--shape={s}" for s in options.shape),
        ],
        capture_output=True,
        text=True,
    )
    if out.returncode != 0:
        sys.exit(f"compare_models: ONNX Runtime on {model}: {out.stderr.strip()}")
    return json.loads(out.stdout[out.stdout.index("{") :])["time"]["median_ms"] * 1e-3


def contestant(spec, options):
    kind, _, model = spec.partition(":")
    if kind == "onnxruntime":
        return lambda: seconds_of_onnxruntime(model, options)
    if "@" not in spec:
        sys.exit(f"compare_models: '{spec}' is neither BUNDLE@DEVICE nor onnxruntime:MODEL.onnx")
    return lambda: seconds_of_bundle(spec, options)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--assay", default=str(ROOT / "build/bin/assay"))
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument(
        "--scratch", default=str(ROOT / "build/compare"), help="folder for ONNX Runtime's outputs"
    )
    parser.add_argument("--dim", action="append", default=[], help="for ONNX Runtime: N=1")
    parser.add_argument("--shape", action="append", default=[], help="for ONNX Runtime: x=1x3x8x8")
    options = parser.parse_args()
    os.makedirs(options.scratch, exist_ok=True)
    a, b = contestant(options.first, options), contestant(options.second, options)
    ratios, mine, theirs = [], [], []
    for _ in range((options.pairs + 1) // 2):
        a1, b1, b2, a2 = a(), b(), b(), a()
        mine += [a1, a2]
        theirs += [b1, b2]
        ratios += [b1 / a1, b2 / a2]
    quartiles = statistics.quantiles(ratios, n=4)
    print(
        json.dumps(
            {
                "first": options.first,
                "second": options.second,
                "pairs": len(ratios),
                "ratio": round(statistics.median(ratios), 3),
                "ratio_quartiles": [round(quartiles[0], 3), round(quartiles[2], 3)],
                "first_ms": [round(1e3 * t, 2) for t in mine],
                "second_ms": [round(1e3 * t, 2) for t in theirs],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
