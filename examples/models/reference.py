#!/usr/bin/env python3
"""Runs a model with ONNX Runtime, for reference outputs and optionally a reference time.

Writes into --output-dir:
  input.bin, output.bin   raw little-endian float32; further ones are input_1.bin, ...
  reference.json          names, shapes, seed, version
Inputs are uniform on [-1, 1] by counter_rng.py under the name "input/<name>", so any program can
make the same ones. In integer inputs, x becomes floor((x + 1) * 50): 0 .. 99, valid as token ids.
In boolean ones it becomes x > -0.5. --dim and --shape are those of `assay compile`.

    reference.py resnet50.onnx --output-dir out
    reference.py resnet50.onnx --output-dir out --time 30 --no-spinning     # prints JSON
    reference.py resnet50.onnx --output-dir out --all-tensors out/tensors   # every intermediate
"""

import argparse
import json
import os
import re
import sys
import time

import numpy
import onnxruntime

import counter_rng

WARM_UP_RUNS = 3
RMS_LOW, RMS_HIGH = 0.1, 10.0


def session_for(model, threads=2, spinning=True):
    """`model` is a path or the bytes of a model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3  # errors only: warnings advise to fold constants
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


INTEGERS = {"tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(uint8)": "uint8"}
FLOATS = {"tensor(double)": "float64", "tensor(float16)": "float16"}


def shape_of(value, dims, shapes):
    """Extents of an input: as given for it, else by the names of its dimensions; others are 1."""
    if value.name in shapes:
        return shapes[value.name]
    known = [extent if isinstance(extent, int) else dims.get(extent, 1) for extent in value.shape]
    return [max(extent, 1) for extent in known]  # some exporters write -1 for a free dimension


def as_type(values, type_name):
    """Numbers on [-1, 1] as an input's type."""
    if type_name in INTEGERS:
        return numpy.minimum(numpy.floor((values + 1) * 50), 99).astype(INTEGERS[type_name])
    if type_name == "tensor(bool)":
        return values > -0.5
    return values.astype(FLOATS.get(type_name, "float32"))


def make_inputs(session, seed, dims={}, shapes={}):
    inputs = {}
    for v in session.get_inputs():
        shape = shape_of(v, dims, shapes)
        data = counter_rng.uniform(seed, "input/" + v.name, int(numpy.prod(shape)))
        values = as_type(numpy.frombuffer(data, "<f4").reshape(shape), v.type)
        inputs[v.name] = numpy.asarray(values)  # of no dimensions: numpy gives a number
    return inputs


def with_all_outputs(path):
    """The model's bytes, with every float intermediate as a graph output. Needs package `onnx`."""
    import onnx

    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    outputs = {v.name for v in model.graph.output}
    for v in model.graph.value_info:
        if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT and v.name not in outputs:
            model.graph.output.append(v)
    return model.SerializeToString()


def rms(array):
    return float(numpy.sqrt(numpy.mean(numpy.square(array, dtype=numpy.float64))))


def activations(path, seed, dims={}, shapes={}):
    """{name: array} of every intermediate and output, in node order, and the op that makes each."""
    import onnx

    nodes = onnx.load(path, load_external_data=False).graph.node
    session = session_for(with_all_outputs(path))
    names = [v.name for v in session.get_outputs()]
    inputs = make_inputs(session, seed, dims, shapes)
    arrays = dict(zip(names, session.run(names, inputs)))
    makers = {}
    for n in nodes:
        if any(name in inputs or name in makers for name in n.input):  # else a reshaped constant
            makers.update((o, n.op_type) for o in n.output)
    return {name: arrays[name] for name in makers if name in arrays}, makers


def check_activations(path, seed):
    """Prints each activation's RMS; returns 0 if all lie in [RMS_LOW, RMS_HIGH], else 1."""
    arrays, makers = activations(path, seed)
    outside = 0
    for name, array in arrays.items():
        value = rms(array)
        # A Softmax sums to one over a thousand classes: small by what it is, not by its weights.
        bad = makers[name] != "Softmax" and not RMS_LOW <= value <= RMS_HIGH
        outside += bad
        shape = "x".join(map(str, array.shape))
        print(
            f"{makers[name]:20} {name:28} {shape:16} rms {value:9.5f}{'  OUTSIDE' if bad else ''}"
        )
    print(f"{len(arrays)} activations, {outside} outside [{RMS_LOW}, {RMS_HIGH}]")
    return 1 if outside else 0


def write_raw(folder, stem, arrays):
    """stem.bin, stem_1.bin, ...; returns what reference.json says of them."""
    entries = []
    for position, (name, array) in enumerate(arrays.items()):
        file = f"{stem}.bin" if position == 0 else f"{stem}_{position}.bin"
        array.astype("<f4").tofile(os.path.join(folder, file))
        entries.append({"name": name, "shape": list(array.shape), "dtype": "f32", "file": file})
    return entries


def dump(folder, arrays, makers):
    os.makedirs(folder, exist_ok=True)
    index = []
    for position, (name, array) in enumerate(arrays.items()):
        file = f"{position:04}_" + re.sub(r"[^A-Za-z0-9_.-]", "_", name) + ".npy"
        numpy.save(os.path.join(folder, file), array)
        index.append(
            {
                "name": name,
                "op": makers[name],
                "shape": list(array.shape),
                "file": file,
                "rms": rms(array),
            }
        )
    with open(os.path.join(folder, "index.json"), "w") as out:
        json.dump(index, out, indent=1)


def timings(session, inputs, runs):
    names = [v.name for v in session.get_outputs()]
    for _ in range(WARM_UP_RUNS):
        session.run(names, inputs)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        session.run(names, inputs)
        times.append((time.perf_counter() - start) * 1e3)
    low, median, high = numpy.percentile(times, [25, 50, 75])
    return {
        "runs": runs,
        "median_ms": float(median),
        "quartile_low_ms": float(low),
        "quartile_high_ms": float(high),
        "min_ms": min(times),
    }


def assignment(text):
    name, equals, value = text.rpartition("=")
    if not equals:
        sys.exit(f"reference: '{text}' is not NAME=VALUE")
    return name, value


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--output-dir", required=True)
    parser.add_argument("--seed", type=int, default=0, help="of the input; default 0")
    parser.add_argument("--threads", type=int, default=2, help="intra-op threads; default 2")
    parser.add_argument(
        "--no-spinning", action="store_true", help="idle threads sleep, and disturb no one"
    )
    parser.add_argument(
        "--time", type=int, metavar="N", help="time N runs after warm-up and print JSON"
    )
    parser.add_argument(
        "--all-tensors", metavar="DIR", help="write every intermediate as .npy, with index.json"
    )
    parser.add_argument(
        "--dim", action="append", default=[], metavar="N=1", help="a symbolic dimension; default 1"
    )
    parser.add_argument(
        "--shape", action="append", default=[], metavar="NAME=1x3x48x192", help="an input's extents"
    )
    options = parser.parse_args()

    os.makedirs(options.output_dir, exist_ok=True)
    session = session_for(options.model, options.threads, not options.no_spinning)
    dims = {name: int(value) for name, value in map(assignment, options.dim)}
    shapes = {
        name: [int(extent) for extent in value.split("x") if extent]
        for name, value in map(assignment, options.shape)
    }
    inputs = make_inputs(session, options.seed, dims, shapes)
    names = [v.name for v in session.get_outputs()]
    outputs = dict(zip(names, session.run(names, inputs)))
    summary = {
        "model": os.path.basename(options.model),
        "onnxruntime": onnxruntime.__version__,
        "seed": options.seed,
        "threads": options.threads,
        "spinning": not options.no_spinning,
        "inputs": write_raw(options.output_dir, "input", inputs),
        "outputs": write_raw(options.output_dir, "output", outputs),
    }
    if options.time:
        summary["time"] = timings(session, inputs, options.time)
        print(json.dumps(summary, indent=1))
    with open(os.path.join(options.output_dir, "reference.json"), "w") as out:
        json.dump(summary, out, indent=1)
    if options.all_tensors:
        dump(options.all_tensors, *activations(options.model, options.seed, dims, shapes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
