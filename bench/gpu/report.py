"""The table of a comparison: its columns, its summary, and the log of what failed."""

import statistics

FIELDS = [
    "part",
    "operator",
    "checked",
    "ours_us",
    "ours_recorded_us",
    "predicted_us",
    "library",
    "eager_us",
    "library_warm_us",
    "library_cold_us",
    "triton_us",
    "ratio",
    "triton_ratio",
    "reason",
]


def logger(path):
    """A function that appends a title and a failure's whole output to a file."""
    file = open(path, "w")
    return lambda title, text: print(f"## {title}\n{text.strip()}\n", file=file, flush=True)


def shown(value, digits=2):
    return f"{value:.{digits}f}" if isinstance(value, float) else value or "-"


def print_summary(rows):
    def mean(part, column, of=None):
        values = [
            r[column] / (r[of] if of else 1)
            for r in rows
            if r["part"] == part and column in r and (of or column) in r
        ]
        return f"{statistics.geometric_mean(values):.3f}" if values else "-"

    print(
        f"\n{'part':8} {'rows':>5} {'ours':>5} {'wrong':>6} {'library/ours':>13} "
        f"{'triton/ours':>12} {'eager/ours':>11} {'predicted/ours':>15}"
    )
    for part in dict.fromkeys(r["part"] for r in rows):
        mine = [r for r in rows if r["part"] == part]
        print(
            f"{part:8} {len(mine):5} {sum('ours_us' in r for r in mine):5} "
            f"{sum(r.get('checked') == 'WRONG' for r in mine):6} "
            f"{mean(part, 'ratio'):>13} {mean(part, 'triton_ratio'):>12} "
            f"{mean(part, 'eager_us', 'ours_us'):>11} {mean(part, 'predicted_us', 'ours_us'):>15}"
        )
    print(
        "geometric means of times' ratios: above 1 ours is faster; "
        "library and Triton warm, in CUDA graphs"
    )
