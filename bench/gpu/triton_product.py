"""Triton's product in f32, with exact multiply-adds."""

import time
import traceback

from gpu.peers import empty, replay_time, torch, uniform
from gpu.operators import parsed

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

# Rows, columns, steps of the sum; waves of 32 threads; stages of asynchronous copies.
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
        """A tile of c = a b; WHOLE: tiles divide m, n and k.

        Programs go through bands of 8 rows of tiles, which read the same columns of b.
        """
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


def version():
    return triton.__version__ if triton else "absent"


def launch_product(a, b, c, tile):
    (m, k), n = a.shape, b.shape[1]
    rows, columns, depth, waves, stages = tile
    whole = m % rows == 0 and n % columns == 0 and k % depth == 0
    grid = (triton.cdiv(m, rows) * triton.cdiv(n, columns),)
    product[grid](a, b, c, m, n, k, rows, columns, depth, whole, num_warps=waves, num_stages=stages)


def time_triton(text, until, log):
    """The best tile's time. Skips tiles much larger than the product, and all when time is over."""
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
        except Exception as fault:  # such as a tile too large for the chip
            faults.append(f"triton {tile}: {type(fault).__name__}")
            log(f"triton {text} {tile}", traceback.format_exc())
    if not times:
        return {"reason": faults[0] if faults else "triton: out of time"}
    best = min(times, key=times.get)
    return {
        "triton_us": 1e6
        * replay_time(lambda *operands: launch_product(*operands, best), [(a, b, c)])
    }
