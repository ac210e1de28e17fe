"""The libraries: cuBLAS and cuDNN through PyTorch, timed in CUDA graphs."""

import collections
import statistics

from gpu.assay import started
from gpu.operators import MODELS, parsed

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

DEVICE = "cuda"  # the current one
MOST_SETS = 512  # of operands; operators that need more are not timed cold


def has_gpu():
    return torch is not None and torch.cuda.is_available()


def event_time(call):
    """Seconds between two events around a call."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def replay_time(call, sets, samples=21, sample_s=5e-3):
    """Median seconds of a call.

    One graph holds whole turns through `sets` of operands and is replayed `samples` times.
    """
    # First runs, in which cuDNN chooses and Triton compiles, must not be captured.
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call(*sets[0])
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    one = max(1e-6, min(event_time(lambda: call(*sets[0])) for _ in range(3)))
    turns = max(1, min(2000, int(sample_s / one)) // len(sets))
    graph = torch.cuda.CUDAGraph()
    # Cold, results live for a turn, so that each call writes memory of its own.
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
    """What makes its operands, and what computes it."""
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
    """With norms folded into convolutions, as networks are deployed."""

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
    """BERT-base after the embedding lookup, with PyTorch's own attention."""
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
    """[(library, what makes operands, what computes)]; the fastest counts."""
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


def prepare_library(device, triton_version, log):
    """Turns TF32 off and logs versions. Returns how many bytes of operands are cold."""
    torch.set_grad_enabled(False)
    torch.cuda.set_device(device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    chip = torch.cuda.get_device_properties(device)
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
        f"{chip.name}, {chip.multi_processor_count} units, L2 of {chip.L2_cache_size} bytes; "
        f"torch {torch.__version__}, CUDA {torch.version.cuda}, "
        f"cuDNN {torch.backends.cudnn.version()}, Triton {triton_version}\n{clocks}",
    )
    return 4 * chip.L2_cache_size
