#!/usr/bin/env python3
"""Writes the models of this folder's cases.

build_cases.py FOLDER [CASE...]     FOLDER/CASE-MODEL.onnx
"""

import argparse
import dataclasses
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EXTENT = 28  # of images: small, so that the float64 evaluation is quick
TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL}


@dataclasses.dataclass
class Case:
    """A model with one output y; `values`, if given, are its input, and `expected` its output."""

    name: str
    model: onnx.ModelProto
    options: tuple = ()  # of assay compile and of reference.py
    values: np.ndarray | None = None
    expected: np.ndarray | None = None
    external: bool = False  # weights in a file of their own


def node(operator, inputs, outputs, **attributes):
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def random(*shape):
    return np.random.default_rng(7).uniform(-1, 1, shape).astype(np.float32)


def model(nodes, shape, constants={}, opset=17):
    """A model of float32: x of this shape, in which None is a dimension without a name, to y."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    tensors = [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    graph = helper.make_graph(nodes, "case", [x], [y], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = min(10, made.ir_version)
    return made


def convolution(name, inputs, weights, **attributes):
    shape = [1, inputs, EXTENT, EXTENT]
    nodes = [node("Conv", "x w", "y", **attributes)]
    return Case(name, model(nodes, shape, {"w": random(*weights)}))


def grouped():
    same = {"kernel_shape": [3, 3], "pads": [1] * 4}
    for g in (1, 2, 4, 32):
        yield convolution(f"{g}", 128, (128, 128 // g, 3, 3), group=g, **same)


def few_outputs():
    for n in (1, 2, 3, 4, 7, 8, 12, 16):
        yield convolution(f"{n}", 64, (n, 64, 3, 3), kernel_shape=[3, 3], pads=[1] * 4)


def transposed_strided():
    for size, pad, outputs in ((4, 1, 64), (2, 0, 32)):
        how = {"kernel_shape": [size] * 2, "strides": [2, 2], "pads": [pad] * 4}
        nodes = [node("ConvTranspose", "x w", "y", **how)]
        weights = {"w": random(64, outputs, size, size)}
        yield Case(f"{size}x{size}", model(nodes, [1, 64, EXTENT, EXTENT], weights))


def concat_between_convolutions():
    c = 16
    nodes = [
        node("Conv", "x w0", "a", kernel_shape=[1, 1]),
        node("Split", "a parts", "p q", axis=1),
        node("Conv", "q w1", "r", kernel_shape=[3, 3], pads=[1] * 4),
        node("Add", "r q", "sum"),
        node("Concat", "p q sum", "c", axis=1),
        node("Conv", "c w2", "y", kernel_shape=[1, 1]),
    ]
    weights = {"w0": random(2 * c, c, 1, 1), "w1": random(c, c, 3, 3)}
    weights |= {"w2": random(2 * c, 3 * c, 1, 1), "parts": np.array([c, c])}
    yield Case("c2f", model(nodes, [1, c, EXTENT, EXTENT], weights))


def cumulative_sum():
    nodes = [node("CumSum", "x axis", "y")]
    yield Case("rows", model(nodes, [1, 512, 64], {"axis": np.int64(1)}))


def denormal_results():
    """Smaller than 1.2e-38: kernels flush them to 0."""
    nodes = [node("Mul", "x c", "y")]
    yield Case("product", model(nodes, [1, 3, 6, 7], {"c": np.float32(1e-40)}))


def infinite_results():
    values = np.array([np.inf, 1, -np.inf, 3], np.float32)
    yield Case("neg", model([node("Neg", "x", "y")], [4]), values=values, expected=-values)


def nan_in_extremes():
    """NaN goes through max and min."""
    nan = np.nan
    values = np.array([[nan, 1, 2, 3], [4, nan, 0, 1], [1, 2, 3, nan], [4, 5, 6, 7]], np.float32)
    of_rows = {"ReduceMax": [nan, nan, nan, 7], "ReduceMin": [nan, nan, nan, 4]}
    for operator, expected in of_rows.items():
        reduced = model([node(operator, "x", "y", axes=[1], keepdims=0)], [4, 4], opset=13)
        expected = np.array(expected, np.float32)
        yield Case(operator, reduced, values=values, expected=expected)
    pooled = model([node("MaxPool", "x", "y", kernel_shape=[2, 2], strides=[2, 2])], [1, 1, 4, 4])
    expected = np.array([nan, 3, 5, nan], np.float32)
    yield Case("MaxPool", pooled, values=values.reshape(1, 1, 4, 4), expected=expected)


def dimensions():
    """Without a name, or with the value -1 of old exporters."""
    relu = [node("Relu", "x", "y")]
    options = ("--shape", "x=1x3x48x192")
    yield Case("unnamed", model(relu, [1, 3, None, None], opset=11), options)
    yield Case("minus-one", model(relu, [-1, 3, 8, 8], opset=11), ("--shape", "x=1x3x8x8"))


def external_weights():
    nodes = [node("MatMul", "x w", "y")]
    yield Case("matmul", model(nodes, [4, 64], {"w": random(64, 512)}), external=True)


def constant_condition():
    def branch(operator, output):
        value = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        return helper.make_graph([node(operator, "x", output)], operator, [], [value])

    for taken in (True, False):
        branches = {"then_branch": branch("Relu", "o1"), "else_branch": branch("Neg", "o2")}
        made = model([node("If", "c", "y", **branches)], [3, 4], {"c": np.array(taken)})
        yield Case(f"{taken}", made)


def constant_int8_weight():
    """The output is of numpy: an optimisation of ONNX Runtime loses three digits here."""
    nodes = [node("DequantizeLinear", "w scale zero", "f"), node("MatMul", "x f", "y")]
    weight = np.random.default_rng(7).integers(-128, 127, (8, 6)).astype(np.int8)
    constants = {"w": weight, "scale": np.float32(0.02), "zero": np.int8(3)}
    values = random(4, 8)
    expected = values @ ((weight.astype(np.float64) - 3) * np.float32(0.02))
    yield Case("matmul", model(nodes, [4, 8], constants), values=values, expected=expected)


CASES = (
    grouped,
    few_outputs,
    transposed_strided,
    concat_between_convolutions,
    cumulative_sum,
    denormal_results,
    infinite_results,
    nan_in_extremes,
    dimensions,
    external_weights,
    constant_condition,
    constant_int8_weight,
)


def save(case, path):
    """The model, and its input and output beside it as raw float32 if the case gives them."""
    if case.external:
        weights = os.path.basename(path) + ".data"
        as_file = {"save_as_external_data": True, "location": weights, "size_threshold": 0}
        onnx.save_model(case.model, path, **as_file)
    else:
        onnx.save(case.model, path)
    for values, end in ((case.values, "input"), (case.expected, "output")):
        if values is not None:
            values.astype("<f4").tofile(f"{path}.{end}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    names = [c.__name__ for c in CASES]
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(names))
    given = parser.parse_args()
    for name in set(given.cases) - set(names):
        parser.error(f"unknown case '{name}'; there are {', '.join(names)}")
    os.makedirs(given.folder, exist_ok=True)
    for build in CASES:
        if not given.cases or build.__name__ in given.cases:
            for case in build():
                path = os.path.join(given.folder, f"{build.__name__}-{case.name}.onnx")
                save(case, path)
                print(" ".join((path, *case.options)))


if __name__ == "__main__":
    main()
