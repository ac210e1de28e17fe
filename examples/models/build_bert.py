#!/usr/bin/env python3
"""Writes BERT-base (Devlin et al., NAACL'19) for 128 tokens as .onnx, with the standard library.

The nodes are those of torch's exporter (opset 13):
  linear layer   MatMul, Add
  heads          Reshape, Transpose
  scores         MatMul, Div by sqrt(d), Add of the mask, Softmax
  GELU           Div, Erf, Add, Mul, Mul
  layer norm     ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add
Inputs are `input_ids` (int64) and `attention_mask`, which is added to the scores: 0 for a visible
token, else a large negative number. With `--embedded` the input is the sum of all embeddings
instead, in float. `--tiny` has 2 layers, hidden size 64 and 16 tokens.
"""

import argparse
import math
import sys
from dataclasses import dataclass

import counter_rng
import onnx_file
from onnx_file import INT64, Model, Node, Tensor, Values, float_scalar, int64_tensor

BIAS = Values(0.0, 0.1)
NORM_SCALE = Values(1.0, 0.2)
TABLE = Values(0.0, 1.0)


@dataclass
class Size:
    layers: int
    hidden: int
    heads: int
    inner: int  # of the two feed-forward layers
    tokens: int
    words: int
    positions: int


BASE = Size(layers=12, hidden=768, heads=12, inner=3072, tokens=128, words=30522, positions=512)
TINY = Size(layers=2, hidden=64, heads=4, inner=256, tokens=16, words=100, positions=32)


class Builder:
    def __init__(self, size):
        self.size = size
        self.nodes = []
        self.constants = {}

    def add(self, op, name, inputs, output=None, **attributes):
        output = output or f"{name}_out"
        self.nodes.append(Node(op, inputs, [output], attributes, name))
        return output

    def constant(self, name, shape, values):
        self.constants[name] = Tensor(shape, values)
        return name

    def scalar(self, name, value):
        self.constants[name] = float_scalar(value)
        return name

    def integers(self, name, values, shape=None):
        self.constants[name] = int64_tensor(values, shape)
        return name

    def linear(self, x, name, wide, narrow):
        """x (rows of `wide`) times a matrix, plus a bias: unit variance stays unit variance."""
        weight = self.constant(f"{name}.weight", [wide, narrow], Values(0.0, math.sqrt(3.0 / wide)))
        product = self.add("MatMul", f"{name}/MatMul", [x, weight])
        return self.add(
            "Add", f"{name}/Add", [self.constant(f"{name}.bias", [narrow], BIAS), product]
        )

    def layer_norm(self, x, name, output=None):
        hidden = self.size.hidden
        mean = self.add("ReduceMean", f"{name}/ReduceMean", [x], axes=[-1])
        centred = self.add("Sub", f"{name}/Sub", [x, mean])
        squares = self.add("Pow", f"{name}/Pow", [centred, self.scalar(f"{name}/two", 2.0)])
        variance = self.add("ReduceMean", f"{name}/ReduceMean_1", [squares], axes=[-1])
        shifted = self.add("Add", f"{name}/Add", [variance, self.scalar(f"{name}/epsilon", 1e-12)])
        deviation = self.add("Sqrt", f"{name}/Sqrt", [shifted])
        normal = self.add("Div", f"{name}/Div", [centred, deviation])
        scaled = self.add(
            "Mul", f"{name}/Mul", [normal, self.constant(f"{name}.weight", [hidden], NORM_SCALE)]
        )
        return self.add(
            "Add", f"{name}/Add_1", [scaled, self.constant(f"{name}.bias", [hidden], BIAS)], output
        )

    def head(self, x, name, order):
        s = self.size
        shape = self.integers(f"{name}/heads", [1, s.tokens, s.heads, s.hidden // s.heads])
        split = self.add("Reshape", f"{name}/Reshape", [x, shape])
        return self.add("Transpose", f"{name}/Transpose", [split], perm=order)

    def attention(self, x, name):
        s = self.size
        query, key, value = (
            self.linear(x, f"{name}.self.{part}", s.hidden, s.hidden)
            for part in ("query", "key", "value")
        )
        query = self.head(query, f"{name}/query", [0, 2, 1, 3])
        key = self.head(key, f"{name}/key", [0, 2, 3, 1])
        value = self.head(value, f"{name}/value", [0, 2, 1, 3])
        scores = self.add("MatMul", f"{name}/scores", [query, key])
        root = self.scalar(f"{name}/root", math.sqrt(s.hidden // s.heads))
        scores = self.add("Div", f"{name}/Div", [scores, root])
        scores = self.add("Add", f"{name}/mask", [scores, "attention_mask"])
        weights = self.add("Softmax", f"{name}/Softmax", [scores], axis=-1)
        context = self.add("MatMul", f"{name}/context", [weights, value])
        context = self.add("Transpose", f"{name}/Transpose", [context], perm=[0, 2, 1, 3])
        shape = self.integers(f"{name}/rows", [1, s.tokens, s.hidden])
        context = self.add("Reshape", f"{name}/Reshape", [context, shape])
        return self.linear(context, f"{name}.output.dense", s.hidden, s.hidden)

    def gelu(self, x, name):
        quotient = self.add("Div", f"{name}/Div", [x, self.scalar(f"{name}/root", math.sqrt(2.0))])
        erf = self.add("Erf", f"{name}/Erf", [quotient])
        sum_ = self.add("Add", f"{name}/Add", [erf, self.scalar(f"{name}/one", 1.0)])
        product = self.add("Mul", f"{name}/Mul", [x, sum_])
        return self.add("Mul", f"{name}/Mul_1", [product, self.scalar(f"{name}/half", 0.5)])

    def layer(self, x, name, output):
        s = self.size
        attended = self.attention(x, f"{name}.attention")
        x = self.layer_norm(
            self.add("Add", f"{name}.attention.output/Add", [attended, x]),
            f"{name}.attention.output.norm",
        )
        inner = self.gelu(
            self.linear(x, f"{name}.intermediate.dense", s.hidden, s.inner), f"{name}.intermediate"
        )
        outer = self.linear(inner, f"{name}.output.dense", s.inner, s.hidden)
        return self.layer_norm(
            self.add("Add", f"{name}.output/Add", [outer, x]), f"{name}.output.norm", output
        )

    def embeddings(self, embedded):
        """Words, kinds and positions of tokens; their kinds are all the first."""
        s = self.size
        if embedded:
            return "hidden_states"
        words = self.constant("embeddings.word.weight", [s.words, s.hidden], TABLE)
        x = self.add("Gather", "embeddings/word", [words, "input_ids"])
        kinds = self.constant("embeddings.token_type.weight", [2, s.hidden], TABLE)
        kind = self.add(
            "Gather",
            "embeddings/token_type",
            [kinds, self.integers("token_type_ids", [0] * s.tokens, [1, s.tokens])],
        )
        x = self.add("Add", "embeddings/Add", [x, kind])
        table = self.constant("embeddings.position.weight", [s.positions, s.hidden], TABLE)
        places = self.integers("position_ids", list(range(s.tokens)), [1, s.tokens])
        place = self.add("Gather", "embeddings/position", [table, places])
        return self.add("Add", "embeddings/Add_1", [x, place])


def build(size, embedded):
    b = Builder(size)
    x = b.layer_norm(b.embeddings(embedded), "embeddings.norm")
    for i in range(size.layers):
        x = b.layer(x, f"encoder.{i}", "last_hidden_state" if i == size.layers - 1 else None)
    first = b.add("Gather", "pooler/Gather", [x, b.integers("pooler/first", [0], [])], axis=1)
    weight = b.constant(
        "pooler.weight", [size.hidden, size.hidden], Values(0.0, math.sqrt(3.0 / size.hidden))
    )
    bias = b.constant("pooler.bias", [size.hidden], BIAS)
    pooled = b.add("Gemm", "pooler/Gemm", [first, weight, bias], alpha=1.0, beta=1.0, transB=1)
    b.add("Tanh", "pooler/Tanh", [pooled], "pooler_output")

    mask = ("attention_mask", [1, 1, 1, size.tokens])
    tokens = (
        ("hidden_states", [1, size.tokens, size.hidden])
        if embedded
        else ("input_ids", [1, size.tokens], INT64)
    )
    results = [
        ("last_hidden_state", [1, size.tokens, size.hidden]),
        ("pooler_output", [1, size.hidden]),
    ]
    return Model("bert", 13, [tokens, mask], results, b.nodes, b.constants)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tiny", action="store_true", help="2 layers, hidden size 64, 16 tokens")
    parser.add_argument(
        "--embedded", action="store_true", help="float embeddings as input instead of token ids"
    )
    parser.add_argument(
        "--plain", action="store_true", help="standard library only, even where numpy is installed"
    )
    options = parser.parse_args()
    model = build(TINY if options.tiny else BASE, options.embedded)
    onnx_file.write(model, options.output, options.seed, options.plain or counter_rng.numpy is None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
