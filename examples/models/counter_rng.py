"""Uniform numbers as a pure function of (seed, name, index).

A counter, not a stream: each element of a tensor can be computed alone, in any order and language.
So two programs that share no code agree on every byte of a 100 MB model.

All integers are unsigned and 64 bits wide, arithmetic is modulo 2^64:

    mix(z):    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
               z = (z ^ (z >> 27)) * 0x94D049BB133111EB
               return z ^ (z >> 31)                          the finaliser of splitmix64
    fnv(name): h = 0xCBF29CE484222325
               for each byte b of the UTF-8 name: h = (h ^ b) * 0x100000001B3
               return h
    key        = mix(fnv(name) ^ mix(seed))
    bits(i)    = mix(key + (i + 1) * 0x9E3779B97F4A7C15)
    t(i)       = (2 * (bits(i) >> 40) + 1 - 2^24) / 2^24     in (-1, 1), never 0, exact in float64
    value(i)   = float32(middle + half_width * t(i))         float64, unfused, round to even

Only +, *, shifts and one rounding: no logarithm or cosine whose last bit depends on the C library.
That is why weights are uniform and not normal; a uniform on +-sqrt(3)*s has standard deviation s.

Check values: KNOWN in tests/examples/test_models.py.
"""

import array
import sys

try:
    import numpy
except ImportError:
    numpy = None

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
MIX1 = 0xBF58476D1CE4E5B9
MIX2 = 0x94D049BB133111EB
CHUNK = 1 << 18  # elements per yielded block: bounds memory, and is the unit of a worker


def mix(z):
    z = ((z ^ (z >> 30)) * MIX1) & MASK
    z = ((z ^ (z >> 27)) * MIX2) & MASK
    return z ^ (z >> 31)


def fnv(name):
    h = 0xCBF29CE484222325
    for byte in name.encode("utf-8"):
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def key(seed, name):
    return mix(fnv(name) ^ mix(seed & MASK))


def block_plain(start_key, first, count, middle, half_width):
    """Elements [first, first + count) as little-endian float32 bytes; standard library only."""
    scale = half_width / (
        1 << 24
    )  # a power of two: half_width * t and (2r + 1 - 2^24) * scale are the same number
    mask, mix1, mix2 = MASK, MIX1, MIX2
    state = (start_key + (first + 1) * GOLDEN) & MASK
    values = []
    append = values.append
    for z in range(
        state, state + count * GOLDEN, GOLDEN
    ):  # exact integers; the mask below makes them modulo 2^64
        z &= mask
        z = ((z ^ (z >> 30)) * mix1) & mask
        z = ((z ^ (z >> 27)) * mix2) & mask
        append(middle + scale * (((z ^ (z >> 31)) >> 40 << 1) - 0xFFFFFF))
    block = array.array("f", values)
    if sys.byteorder == "big":
        block.byteswap()
    return block.tobytes()


def block_numpy(start_key, first, count, middle, half_width):
    """The same bytes as block_plain."""
    z = numpy.arange(first + 1, first + 1 + count, dtype=numpy.uint64)
    z *= numpy.uint64(GOLDEN)
    z += numpy.uint64(start_key)
    z ^= z >> numpy.uint64(30)
    z *= numpy.uint64(MIX1)
    z ^= z >> numpy.uint64(27)
    z *= numpy.uint64(MIX2)
    z ^= z >> numpy.uint64(31)
    z >>= numpy.uint64(40)
    t = z.astype(numpy.float64)
    t *= 2.0
    t -= float(0xFFFFFF)
    t *= half_width / (1 << 24)
    t += middle
    return t.astype("<f4").tobytes()


def blocks(seed, name, count, middle=0.0, half_width=1.0, plain=numpy is None):
    """Yields the elements [0, count) of tensor `name` as blocks of little-endian float32 bytes."""
    start_key = key(seed, name)
    block = block_plain if plain else block_numpy
    for first in range(0, count, CHUNK):
        yield block(start_key, first, min(CHUNK, count - first), middle, half_width)


def uniform(seed, name, count, middle=0.0, half_width=1.0, plain=numpy is None):
    """All elements of tensor `name` as little-endian float32 bytes."""
    return b"".join(blocks(seed, name, count, middle, half_width, plain))
