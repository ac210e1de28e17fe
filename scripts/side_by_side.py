#!/usr/bin/env python3
"""Joins the summaries that `assay run --summary` wrote for one model on several devices.

  side_by_side.py cpu:0=a.json opencl:0=b.json -o summary.json

Prints predicted beside measured per device. The joined file is the first summary with a list
`devices`.
"""

import argparse
import json

HEAD = ("device", "predicted", "measured", "error", "verified")


def read(given):
    device, _, path = given.partition("=")
    with open(path, encoding="utf-8") as f:
        summary = json.load(f)
    row = {
        "id": device,
        **{key: value for key, value in summary.items() if key not in ("model", "operators")},
    }
    row["error"] = summary["predicted_s"] / summary["measured_s"] - 1
    return summary, row


def text(row):
    verified = {True: "yes", False: "NO", None: "not asked"}[row["verified"]]
    return (
        row["id"],
        f"{row['predicted_s'] * 1e3:.3g} ms",
        f"{row['measured_s'] * 1e3:.3g} ms",
        f"{row['error'] * 100:+.1f} %",
        verified,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("summaries", nargs="+", metavar="DEVICE=FILE")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    summaries, rows = zip(*map(read, arguments.summaries))
    lines = [HEAD, *map(text, rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    print(f"{summaries[0]['model']} on every device of this machine:")
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
    with open(arguments.output, "w", encoding="utf-8") as f:
        json.dump({**summaries[0], "devices": rows}, f, indent=2)
        f.write("\n")


if __name__ == "__main__":
    main()
