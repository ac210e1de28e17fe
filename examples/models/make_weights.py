#!/usr/bin/env python3
"""Fills a network's missing weights, and writes it as a plain .onnx file.

The package `onnx` has well-known architectures of a few kilobytes each (backend/test/data/light),
whose weights are ConstantOfShape nodes of 0.02. Those nodes become initialisers with values by
weight_rules.py, which depend on (seed, tensor name, index) alone. Operators, their order, names and
opset stay the same. Constants that no node reads are left out.

    make_weights.py resnet50 -o resnet50.onnx --check
"""

import argparse
import os
import sys

import onnx
from onnx import numpy_helper

import onnx_file
import weight_rules
from onnx_file import FLOAT, INT64, Model, Node, Tensor


def find_model(name):
    """`name` is a file, or the short name of a light model: resnet50, vgg19, ..."""
    if os.path.exists(name):
        return name
    folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
    path = os.path.join(folder, f"light_{name}.onnx")
    if not os.path.exists(path):
        known = sorted(
            f[6:-5] for f in os.listdir(folder) if f.startswith("light_") and f.endswith(".onnx")
        )
        raise SystemExit(
            f"make_weights: no file and no light model '{name}'; light models: {', '.join(known)}"
        )
    return path


def attribute_value(node, attribute):
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, (int, float)):
        return value
    if all(isinstance(v, (int, float)) for v in value):
        return list(value)
    raise SystemExit(
        f"make_weights: {node.op_type} {node.name}: attribute {attribute.name} of an unknown kind"
    )


def constant(name, array):
    if array.dtype.name not in ("float32", "int64"):
        raise SystemExit(f"make_weights: {name}: type {array.dtype} is neither float32 nor int64")
    dtype = FLOAT if array.dtype.name == "float32" else INT64
    return Tensor(list(array.shape), array.astype(array.dtype.newbyteorder("<")).tobytes(), dtype)


def read(path):
    """The model with each ConstantOfShape of known shape as a constant, still without values."""
    proto = onnx.load(path)
    graph = proto.graph
    arrays = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    constants = {name: constant(name, array) for name, array in arrays.items()}
    nodes = []
    for n in graph.node:
        if n.op_type == "ConstantOfShape" and n.input[0] in arrays:
            constants[n.output[0]] = Tensor([int(extent) for extent in arrays[n.input[0]]], None)
            continue
        attributes = {a.name: attribute_value(n, a) for a in n.attribute}
        nodes.append(Node(n.op_type, list(n.input), list(n.output), attributes, n.name))

    read_names = [name for n in nodes for name in n.inputs]
    constants = {
        name: constants[name] for name in read_names if name in constants
    }  # in the order of first use
    given = [(v.name, extents(v)) for v in graph.input if v.name not in arrays]
    outputs = [(v.name, extents(v)) for v in graph.output]
    opset = next(o.version for o in proto.opset_import if o.domain in ("", "ai.onnx"))
    return Model(graph.name, opset, given, outputs, nodes, constants)


def extents(value):
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


def fill(model):
    chosen = weight_rules.assign(model.nodes, model.constants)
    for name, tensor in model.constants.items():
        if name in chosen:
            tensor.data = chosen[name]
        elif tensor.data is None:
            raise SystemExit(
                f"make_weights: {name}: no rule says which values it gets (see weight_rules.py)"
            )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "model", help="an .onnx file, or the short name of a light model, as resnet50"
    )
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--check", action="store_true", help="run it and print the RMS of every activation"
    )
    options = parser.parse_args()

    model = read(find_model(options.model))
    fill(model)
    onnx_file.write(model, options.output, options.seed)
    if options.check:
        import reference

        return reference.check_activations(options.output, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
