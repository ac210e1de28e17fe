"""The operators and models that are compared, by part."""

import math

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
    """The texts of a part, the most important first: time may run out."""
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
