#!/usr/bin/env python3
"""Operators and models on an NVIDIA GPU: ours against cuBLAS and cuDNN (through PyTorch) and a Triton kernel.

    bench/compare_gpu.py --assay build/bin/assay --profile PROFILE.yaml --device cuda:0 --out DIR
    bench/compare_gpu.py --assay build/bin/assay --profile generic/x86-avx512-2core --device cpu:0 --out DIR \\
                         --no-library --largest 2e8                      # the half of ours alone, on any device

Everything is f32, without TF32. Columns of DIR/compare_gpu.csv, times in microseconds:
  ours_us           median of single runs between events of the device, the same buffers again and again
  ours_recorded_us  one launch of all kernels recorded as a graph, by the host's clock
  eager_us          the library's, one call between two events, as ours_us; holds what Python and launching take
  library_warm_us   many calls in a CUDA graph on the same operands: what ours is held against
  library_cold_us   the same, in turn on operands that together are more than four times the L2
  triton_us         as library_warm_us, the best of a few tiles
  ratio             library_warm_us / the lower one of ours: above 1 ours is faster; triton_ratio likewise
Convolutions and ResNet-50 get the better one of NCHW and NHWC. What failed says why in `reason`; the output of
what failed is in DIR/log.txt. A part stops when its share of --minutes is over; what it leaves is the next one's.
"""

import argparse
import collections
import concurrent.futures
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None
try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARES = {"matmul": 0.35, "conv": 0.2, "vector": 0.15, "models": 0.3}  # of the minutes
WORKERS, COMPILE_S, MODEL_S, RUN_S = (
    12,
    60,
    150,
    60,
)  # compilers at a time; seconds that one may take
CHECKED = 1 << 31  # multiply-adds or elements: so many are evaluated in float64 in a second or so
JSON = ["--format", "json"]
DEVICE = "cuda"  # the current one
MOST_SETS = 512  # of operands; smaller ones are not timed cold
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

PRODUCTS = [
    (1024, 1024, 1024),
    (4096, 4096, 4096),
    (2048, 2048, 2048),
    (1021, 1031, 1033),
    (32, 4096, 4096),
    (512, 512, 512),
    (8192, 8192, 8192),
    (128, 768, 768),
    (128, 3072, 768),
    (4096, 1, 4096),
    (1, 4096, 4096),
    (65536, 64, 64),
    (64, 64, 65536),
    (3000, 200, 5000),
    (4096, 4096, 128),
]
BATCHED = [(12, 128, 128, 64), (64, 256, 256, 256)]
LAYERS = [
    (64, 56, 64, 3, 1),
    (256, 56, 64, 1, 1),
    (128, 28, 128, 3, 1),
    (1024, 14, 256, 1, 1),
    (256, 14, 256, 3, 1),
    (3, 224, 64, 7, 2),
    (512, 7, 512, 3, 1),
    (512, 7, 2048, 1, 1),
    (128, 56, 128, 3, 2),
    (512, 28, 1024, 1, 2),
]
MATRICES = [(4096, 4096), (128, 768), (16384, 1024), (64, 65536), (1531, 1021)]
BY_ROWS = ["softmax", "layer_norm", "reduce_sum", "transpose", "bias_add", "column_sum"]
MODELS = {"resnet50": ["build_resnet50.py"], "bert": ["build_bert.py", "--embedded"]}


def operators(part):
    """What is compared, what matters most first: time may run out."""
    if part == "matmul":
        return [f"matmul m={m} n={n} k={k}" for m, n, k in PRODUCTS] + [
            f"matmul b={b} m={m} n={n} k={k}" for b, m, n, k in BATCHED
        ]
    if part == "conv":
        return [
            f"conv n={n} c={c} h={h} w={h} o={o} r={r} s={r} stride={stride}"
            for n in (1, 16)
            for c, h, o, r, stride in LAYERS
        ]
    if part == "vector":
        return [
            f"{name} rows={rows} columns={columns}"
            for rows, columns in MATRICES
            for name in BY_ROWS
        ] + [f"{name} n={n}" for n in (1 << 24, 1 << 20) for name in ("relu", "add", "gelu")]
    return list(MODELS)


def parsed(text):
    """The name and the parameters of an operator."""
    name, *words = text.split()
    return name, {"b": 1, **{key: int(value) for key, value in (word.split("=") for word in words)}}


def work_of(text):
    """Multiply-adds, or elements where there are none."""
    name, v = parsed(text)
    if name == "matmul":
        return v["b"] * v["m"] * v["n"] * v["k"]
    if name == "conv":
        return (
            v["n"]
            * v["c"]
            * v["o"]
            * v["r"]
            * v["s"]
            * math.ceil(v["h"] / v["stride"])
            * math.ceil(v["w"] / v["stride"])
        )
    return {"resnet50": 4.1e9, "bert": 11.2e9}.get(name) or v.get("n") or v["rows"] * v["columns"]


def logger(path):
    """What writes what failed, in whole."""
    file = open(path, "w")
    return lambda title, text: print(f"## {title}\n{text.strip()}\n", file=file, flush=True)


# Ours: compile and run, a process each.


def started(command, seconds):
    """Exit status, standard output and all that was said, of a command; status None: it took too long."""
    try:
        out = subprocess.run(
            [str(word) for word in command], capture_output=True, timeout=max(1, seconds)
        )
        return (
            out.returncode,
            out.stdout.decode(errors="replace"),
            (out.stdout + out.stderr).decode(errors="replace"),
        )
    except subprocess.TimeoutExpired as late:
        said = b"\n".join(filter(None, (late.stdout, late.stderr))).decode(errors="replace")
        return None, "", f"error: stopped after {late.timeout:.0f} s\n{said}"
    except OSError as fault:
        return -1, "", f"error: {fault}"


def why(said):
    """The line that says why, of what a failed command said."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next(
        (line for line in lines if "error" in line), lines[-1] if lines else "it said nothing"
    )[:160]


def compiled(text, folder, options, until):
    """Makes the bundle in `folder`. Returns why there is none ("" if there is one) and what was said (JSON)."""
    steps = [
        (
            "compile",
            [
                options.assay,
                "compile",
                "--op",
                text,
                "--profile",
                options.profile,
                "-o",
                folder,
                *JSON,
            ],
            COMPILE_S,
        )
    ]
    if text in MODELS:
        script, *flags = MODELS[text]
        model = f"{folder}.onnx"
        steps = [
            (
                "model",
                [sys.executable, ROOT / "examples/models" / script, *flags, "-o", model],
                MODEL_S,
            ),
            (
                "compile",
                [
                    options.assay,
                    "compile",
                    model,
                    "--profile",
                    options.profile,
                    "-o",
                    folder,
                    *JSON,
                ],
                MODEL_S,
            ),
        ]
    for name, command, most in steps:
        left = until - time.monotonic()
        if left <= 0:
            return f"{name}: out of time", ""
        status, out, said = started(command, min(most, left))
        if status != 0:
            return f"{name}: {why(said)}", said
    return "", out


def compile_all(texts, folder, options, until, log):
    """Bundles of all operators, several compilers at a time. Returns by operator its folder, why it has none, and seconds predicted."""
    folders = [os.path.join(folder, str(number)) for number in range(len(texts))]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        answers = list(
            pool.map(lambda text, to: compiled(text, to, options, until), texts, folders)
        )
    for text, (reason, said) in zip(texts, answers):
        if reason:
            log(f"compile {text}", said or reason)
    return {
        text: (to, reason, 0 if reason else json.loads(said)["predicted_s"])
        for text, to, (reason, said) in zip(texts, folders, answers)
    }


def time_ours(text, bundle, predicted_s, options, until, log):
    """The columns of ours, of a bundle; those that could not be had are absent, `reason` then says why."""
    repeat = max(10, min(options.repeat, int(1 / predicted_s)))  # a second's worth
    command = [
        options.assay,
        "run",
        bundle,
        "--device",
        options.device,
        "--repeat",
        repeat,
        "--warm-up",
        5,
        "--patience",
        0,
        *JSON,
    ]  # the other side has no patience either
    if work_of(text) <= CHECKED:
        command.append("--check")
    reason = ""
    for more in (["--recorded"], []):  # where a device has nothing to record in: without
        status, out, said = started([*command, *more], min(RUN_S, until + 10 - time.monotonic()))
        if status in (0, 1) and out.startswith("{"):  # 1: it ran, and what it computed is wrong
            break
        log(f"run {text} {' '.join(more)}", said)
        reason = f"run: {why(said)}"
    else:
        return {"reason": reason}
    told = json.loads(out)
    row = {
        "ours_us": 1e6 * told["measured_s"],
        "predicted_us": 1e6 * told["predicted_s"],
        "reason": reason,
    }
    if "recorded" in told:
        row["ours_recorded_us"] = 1e6 * told["recorded"]["measured_s"]
    if told["verified"] is not None:
        row["checked"] = "right" if told["verified"] else "WRONG"
    if told["verified"] is False:
        log(f"run {text}: wrong", said)
        row["reason"] = f"wrong by {told['max_relative_error']}"
    return row


# The libraries.


def event_time(call):
    """Seconds between two events around a call."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def replay_time(call, sets, samples=21, sample_s=5e-3):
    """Median seconds of a call: whole turns through `sets` of operands in one graph, replayed `samples` times."""
    stream = (
        torch.cuda.Stream()
    )  # what is captured has run on another stream: cuDNN chooses here, Triton compiles
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call(*sets[0])
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    one = max(1e-6, min(event_time(lambda: call(*sets[0])) for _ in range(3)))
    turns = max(1, min(2000, int(sample_s / one)) // len(sets))
    graph = torch.cuda.CUDAGraph()
    # Results stay for a turn, so that each call of one writes memory of its own; on one set all write the same.
    results = collections.deque(maxlen=len(sets) if len(sets) > 1 else 0)
    with torch.cuda.graph(graph):
        for operands in sets * turns:
            results.append(call(*operands))
    results.clear()
    for _ in range(3):
        graph.replay()
    return statistics.median(event_time(graph.replay) for _ in range(samples)) / (turns * len(sets))


def empty(*shape):
    return torch.empty(shape, device=DEVICE)


def uniform(*shape):
    return empty(*shape).uniform_(-1, 1)


def vector_operator(name, n=0, rows=0, columns=0, **_):
    """What makes its operands, what computes it."""
    x, row = lambda: uniform(rows, columns), lambda: uniform(columns)
    return {
        "relu": (lambda: (uniform(n), empty(n)), lambda a, y: torch.clamp_min(a, 0, out=y)),
        "add": (lambda: (uniform(n), uniform(n), empty(n)), lambda a, b, y: torch.add(a, b, out=y)),
        "gelu": (lambda: (uniform(n),), F.gelu),
        "softmax": (lambda: (x(),), lambda a: torch.softmax(a, -1)),
        "layer_norm": (
            lambda: (x(), row(), row()),
            lambda a, gain, shift: F.layer_norm(a, (columns,), gain, shift, 1e-5),
        ),
        "reduce_sum": (lambda: (x(), empty(rows)), lambda a, y: torch.sum(a, 1, out=y)),
        "column_sum": (lambda: (x(), empty(columns)), lambda a, y: torch.sum(a, 0, out=y)),
        "transpose": (lambda: (x(), empty(columns, rows)), lambda a, y: y.copy_(a.t())),
        "bias_add": (
            lambda: (x(), row(), empty(rows, columns)),
            lambda a, b, y: torch.add(a, b, out=y),
        ),
    }[name]


def resnet50(layout):
    """With norms folded into convolutions, as a network is handed over to be run."""

    def conv(c_in, c_out, window=1, stride=1):
        return torch.nn.Conv2d(c_in, c_out, window, stride, window // 2).to(
            DEVICE, memory_format=layout
        )

    stem, blocks, c_in = conv(3, 64, 7, 2), [], 64
    for count, c, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        blocks.append(
            (conv(c_in, c), conv(c, c, 3, stride), conv(c, 4 * c), conv(c_in, 4 * c, 1, stride))
        )
        blocks += [
            (conv(4 * c, c), conv(c, c, 3), conv(c, 4 * c), torch.nn.Identity())
            for _ in range(count - 1)
        ]
        c_in = 4 * c
    classes = torch.nn.Linear(c_in, 1000).to(DEVICE)

    def call(x):
        x = F.max_pool2d(torch.relu_(stem(x)), 3, 2, 1)
        for narrow, window, wide, beside in blocks:
            y = wide(torch.relu_(window(torch.relu_(narrow(x)))))
            x = torch.relu_(y.add_(beside(x)))
        return torch.softmax(classes(F.avg_pool2d(x, 7).flatten(1)), -1)

    return lambda: (uniform(1, 3, 224, 224).to(memory_format=layout),), call


def bert(tokens=128, hidden=768, heads=12, layers=12):
    """BERT-base behind its look-up of words, with PyTorch's own attention."""
    linear = lambda wide=hidden, narrow=hidden: torch.nn.Linear(wide, narrow).to(DEVICE)
    norm = lambda: torch.nn.LayerNorm(hidden, eps=1e-12).to(DEVICE)
    split = lambda x: x.view(1, tokens, heads, -1).transpose(1, 2)
    steps = [
        (
            linear(),
            linear(),
            linear(),
            linear(),
            norm(),
            linear(hidden, 4 * hidden),
            linear(4 * hidden, hidden),
            norm(),
        )
        for _ in range(layers)
    ]
    embedded, pooler = norm(), linear()

    def call(x, mask):
        x = embedded(x)
        for query, key, value, joined, first, inner, outer, second in steps:
            seen = F.scaled_dot_product_attention(
                split(query(x)), split(key(x)), split(value(x)), attn_mask=mask
            )
            x = first(joined(seen.transpose(1, 2).reshape(1, tokens, hidden)) + x)
            x = second(outer(F.gelu(inner(x))) + x)
        return x, torch.tanh(pooler(x[:, 0]))

    return lambda: (uniform(1, tokens, hidden), uniform(1, 1, 1, tokens)), call


def contenders(text):
    """What computes it: [(library, what makes operands, what computes)]; the fastest counts."""
    name, v = parsed(text)
    layouts = [("NCHW", torch.contiguous_format), ("NHWC", torch.channels_last)]
    if name == "matmul":
        b, m, n, k = [v["b"]] if v["b"] > 1 else [], v["m"], v["n"], v["k"]
        return [
            (
                "cuBLAS",
                lambda: (uniform(*b, m, k), uniform(*b, k, n), empty(*b, m, n)),
                lambda x, y, out: torch.matmul(x, y, out=out),
            )
        ]
    if name == "conv":
        shapes = [(v["n"], v["c"], v["h"], v["w"]), (v["o"], v["c"], v["r"], v["s"])]
        return [
            (
                f"cuDNN {label}",
                lambda layout=layout: [
                    uniform(*shape).to(memory_format=layout) for shape in shapes
                ],
                lambda x, w: F.conv2d(x, w, stride=v["stride"], padding=v["r"] // 2),
            )
            for label, layout in layouts
        ]
    if name == "resnet50":
        return [(f"torch {label}", *resnet50(layout)) for label, layout in layouts]
    return [("torch", *(bert() if name == "bert" else vector_operator(name, **v)))]


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def time_library(text, cold_bytes):
    entries = []
    for library, make, call in contenders(text):
        operands = make()
        entries.append((replay_time(call, [operands]), library, make, call, operands))
    warm, library, make, call, operands = min(entries, key=lambda entry: entry[0])
    row = {
        "library": library,
        "library_warm_us": 1e6 * warm,
        "eager_us": 1e6 * statistics.median(event_time(lambda: call(*operands)) for _ in range(31)),
    }
    if text in MODELS:
        return row
    result = call(*operands)
    sets = (
        cold_bytes // bytes_of([*operands] + [result] * all(result is not t for t in operands)) + 1
    )
    if sets <= MOST_SETS:
        row["library_cold_us"] = 1e6 * (
            warm if sets == 1 else replay_time(call, [make() for _ in range(sets)])
        )
    return row


# Triton: f32 products, exact multiply-adds. Tiles: rows, columns, steps of the sum; waves of 32 threads; stages of copies.

TILES = [
    (128, 128, 16, 8, 2),
    (64, 64, 32, 4, 3),
    (128, 64, 16, 4, 3),
    (32, 64, 32, 4, 3),
    (16, 64, 64, 4, 3),
]

if triton:

    @triton.jit
    def product(
        a,
        b,
        c,
        m,
        n,
        k,
        ROWS: tl.constexpr,
        COLUMNS: tl.constexpr,
        DEPTH: tl.constexpr,
        WHOLE: tl.constexpr,
    ):
        """A tile of c = a b; WHOLE: tiles divide m, n and k. Bands of 8 rows of tiles share what they read."""
        down, across = tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS)
        at = tl.program_id(0)
        top = at // (8 * across) * 8
        height = tl.minimum(down - top, 8)
        i = (top + at % (8 * across) % height) * ROWS + tl.arange(0, ROWS)
        j = at % (8 * across) // height * COLUMNS + tl.arange(0, COLUMNS)
        sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
        for begin in range(0, k, DEPTH):
            t = begin + tl.arange(0, DEPTH)
            left, right = a + i[:, None] * k + t[None, :], b + t[:, None] * n + j[None, :]
            if WHOLE:
                x, y = tl.load(left), tl.load(right)
            else:
                x = tl.load(left, mask=(i[:, None] < m) & (t[None, :] < k), other=0.0)
                y = tl.load(right, mask=(t[:, None] < k) & (j[None, :] < n), other=0.0)
            sums = tl.dot(x, y, sums, input_precision="ieee")
        tl.store(c + i[:, None] * n + j[None, :], sums, mask=(i[:, None] < m) & (j[None, :] < n))


def launch_product(a, b, c, tile):
    (m, k), n = a.shape, b.shape[1]
    rows, columns, depth, waves, stages = tile
    whole = m % rows == 0 and n % columns == 0 and k % depth == 0
    grid = (triton.cdiv(m, rows) * triton.cdiv(n, columns),)
    product[grid](a, b, c, m, n, k, rows, columns, depth, whole, num_warps=waves, num_stages=stages)


def time_triton(text, until, log):
    """The best tile's time; tiles are left out that are much larger than the product, and all when time is over."""
    _, v = parsed(text)
    if v["b"] > 1:
        return {}
    a, b, c = uniform(v["m"], v["k"]), uniform(v["k"], v["n"]), empty(v["m"], v["n"])
    expected = torch.matmul(a.double(), b.double())
    times, faults = {}, []
    for tile in TILES:
        if (
            time.monotonic() > until
            or tile[0] >= 4 * max(16, v["m"])
            or tile[1] >= 8 * max(16, v["n"])
        ):
            continue
        try:
            c.fill_(float("nan"))
            launch_product(a, b, c, tile)
            error = ((c - expected).abs().max() / expected.abs().max()).item()
            if not error < 1e-4:
                raise ArithmeticError(f"wrong by {error}")
            times[tile] = replay_time(
                lambda *operands: launch_product(*operands, tile), [(a, b, c)], samples=5
            )
        except Exception as fault:  # a tile too large for the chip, say
            faults.append(f"triton {tile}: {type(fault).__name__}")
            log(f"triton {text} {tile}", traceback.format_exc())
    if not times:
        return {"reason": faults[0] if faults else "triton: out of time"}
    best = min(times, key=times.get)
    return {
        "triton_us": 1e6
        * replay_time(lambda *operands: launch_product(*operands, best), [(a, b, c)])
    }


# All together.


def add_columns(row, more):
    row["reason"] = "; ".join(filter(None, (row.get("reason"), more.pop("reason", ""))))
    row.update(more)


def time_peers(text, row, part, until, cold_bytes, log):
    contests = [("library", lambda: time_library(text, cold_bytes))]
    if part == "matmul" and triton:
        contests.append(("triton", lambda: time_triton(text, until, log)))
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
        torch.cuda.empty_cache()


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
        f"\n{'part':8} {'rows':>5} {'ours':>5} {'wrong':>6} {'library/ours':>13} {'triton/ours':>12} {'eager/ours':>11} {'predicted/ours':>15}"
    )
    for part in dict.fromkeys(r["part"] for r in rows):
        mine = [r for r in rows if r["part"] == part]
        print(
            f"{part:8} {len(mine):5} {sum('ours_us' in r for r in mine):5} {sum(r.get('checked') == 'WRONG' for r in mine):6} "
            f"{mean(part, 'ratio'):>13} {mean(part, 'triton_ratio'):>12} {mean(part, 'eager_us', 'ours_us'):>11} "
            f"{mean(part, 'predicted_us', 'ours_us'):>15}"
        )
    print(
        "geometric means of times' ratios: above 1 ours is faster; library and Triton warm, in CUDA graphs"
    )


def prepare_library(options, log):
    """Bytes of operands that are cold; versions go to the log."""
    torch.set_grad_enabled(False)
    torch.cuda.set_device(options.device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    chip = torch.cuda.get_device_properties(options.device)
    _, _, clocks = started(
        [
            "nvidia-smi",
            "--query-gpu=driver_version,clocks.sm,clocks.mem,power.draw",
            "--format=csv",
        ],
        20,
    )
    log(
        "machine",
        f"{chip.name}, {chip.multi_processor_count} units, L2 of {chip.L2_cache_size} bytes; torch {torch.__version__}, "
        f"CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}, Triton {triton.__version__ if triton else 'absent'}\n{clocks}",
    )
    return 4 * chip.L2_cache_size


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
    if not options.no_library and (torch is None or not torch.cuda.is_available()):
        parser.error("torch finds no GPU; --no-library times ours alone")
    os.makedirs(options.out, exist_ok=True)
    log, rows = logger(os.path.join(options.out, "log.txt")), []
    cold_bytes = 0 if options.no_library else prepare_library(options, log)
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
