#!/usr/bin/env python3
"""Operators and models on an NVIDIA GPU: ours against cuBLAS, cuDNN (through PyTorch) and Triton.

    bench/compare_gpu.py --profile PROFILE.yaml --device cuda:0 --out DIR
    bench/compare_gpu.py --profile generic/x86-avx512-2core --device cpu:0 --out DIR \\
        --no-library --largest 2e8          # ours alone, on any device

Everything is f32, without TF32. Columns of DIR/compare_gpu.csv, times in microseconds:
  ours_us           median of single runs between device events, on the same buffers
  ours_recorded_us  one launch of all kernels, recorded as a graph, by the host's clock
  eager_us          the library, one call between two events; includes Python and launching
  library_warm_us   many calls in a CUDA graph on the same operands: what ours is compared with
  library_cold_us   the same on alternating operands, together more than four times the L2
  triton_us         as library_warm_us, the best of a few tiles
  ratio             library_warm_us / the lower one of ours: above 1 ours is faster
  triton_ratio      triton_us / the lower one of ours
Convolutions and ResNet-50 use the faster of NCHW and NHWC. `reason` says what failed, and
DIR/log.txt has its output. A part stops when its share of --minutes is over; unused time goes to
the next part.
"""

import argparse
import csv
import math
import os
import tempfile
import time
import traceback

from gpu import peers, triton_product
from gpu.assay import ROOT, compile_all, time_ours
from gpu.operators import operators, work_of
from gpu.report import FIELDS, logger, print_summary, shown

SHARES = {"matmul": 0.35, "conv": 0.2, "vector": 0.15, "models": 0.3}  # of the minutes


def add_columns(row, more):
    row["reason"] = "; ".join(filter(None, (row.get("reason"), more.pop("reason", ""))))
    row.update(more)


def time_peers(text, row, part, until, cold_bytes, log):
    contests = [("library", lambda: peers.time_library(text, cold_bytes))]
    if part == "matmul" and triton_product.triton:
        contests.append(("triton", lambda: triton_product.time_triton(text, until, log)))
    for name, contest in contests:
        try:
            add_columns(row, contest())
        except Exception as fault:
            add_columns(
                row,
                {
                    "reason": f"{name}: {type(fault).__name__}: {str(fault)[:120]}".replace(
                        "\n", " "
                    )
                },
            )
            log(f"{name} {text}", traceback.format_exc())
        peers.torch.cuda.empty_cache()


def compare_part(part, options, until, cold_bytes, log, write):
    texts = [text for text in operators(part) if work_of(text) <= options.largest]
    with tempfile.TemporaryDirectory(prefix="compare_gpu") as folder:
        bundles = compile_all(texts, folder, options, until, log)
        for text in texts:
            row = {"part": part, "operator": text}
            if time.monotonic() > until:
                write({**row, "reason": "out of time"})
                continue
            bundle, reason, predicted_s = bundles[text]
            add_columns(
                row,
                (
                    {"reason": reason}
                    if reason
                    else time_ours(text, bundle, predicted_s, options, until, log)
                ),
            )
            if cold_bytes:
                time_peers(text, row, part, until, cold_bytes, log)
            ours = min(
                (row[column] for column in ("ours_us", "ours_recorded_us") if column in row),
                default=None,
            )
            for ratio, peer in (("ratio", "library_warm_us"), ("triton_ratio", "triton_us")):
                if ours and peer in row:
                    row[ratio] = row[peer] / ours
            write(row)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--assay", default=str(ROOT / "build/bin/assay"))
    parser.add_argument("--profile", required=True)
    parser.add_argument("--device", default="cuda:0", help="assay's name of it, and torch's")
    parser.add_argument("--out", required=True, help="folder for compare_gpu.csv and log.txt")
    parser.add_argument("--parts", default=",".join(SHARES))
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument(
        "--repeat", type=int, default=50, help="timed runs of ours, fewer of long ones"
    )
    parser.add_argument(
        "--largest",
        type=float,
        default=math.inf,
        help="multiply-adds, or elements, of what is not left out",
    )
    parser.add_argument(
        "--no-library", action="store_true", help="ours alone; needs neither torch nor a GPU"
    )
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := [part for part in parts if part not in SHARES]:
        parser.error(f"unknown parts {', '.join(unknown)}; there are {', '.join(SHARES)}")
    if not options.no_library and not peers.has_gpu():
        parser.error("torch finds no GPU; --no-library times ours alone")
    os.makedirs(options.out, exist_ok=True)
    log, rows = logger(os.path.join(options.out, "log.txt")), []
    cold_bytes = 0
    if not options.no_library:
        cold_bytes = peers.prepare_library(options.device, triton_product.version(), log)
    with open(os.path.join(options.out, "compare_gpu.csv"), "w", newline="") as file:
        table = csv.DictWriter(file, FIELDS)
        table.writeheader()

        def write(row):
            rows.append(row)
            table.writerow(
                {
                    key: shown(value, 3) if isinstance(value, float) else value
                    for key, value in row.items()
                }
            )
            file.flush()
            columns = ("ours_us", "library_warm_us", "triton_us", "ratio")
            print(
                f"{row['operator']:56}",
                *(f"{shown(row.get(c)):>10}" for c in columns),
                row.get("reason", "")[:60],
                flush=True,
            )

        print(f"{'operator':56} {'ours us':>10} {'library us':>10} {'triton us':>10} {'ratio':>10}")
        until = time.monotonic()
        for part in parts:
            until += 60 * options.minutes * SHARES[part] / sum(SHARES[p] for p in parts)
            try:
                compare_part(part, options, until, cold_bytes, log, write)
            except Exception as fault:
                write(
                    {"part": part, "operator": "all", "reason": f"{type(fault).__name__}: {fault}"}
                )
                log(part, traceback.format_exc())
    print_summary(rows)


if __name__ == "__main__":
    main()
