#!/usr/bin/env python3
"""Quantises an image model with ONNX Runtime's static quantiser and compares its results.

    ../../build/venv/bin/python quantise.py resnet50.onnx -o resnet50_i8.onnx
    ../../build/venv/bin/python quantise.py resnet50.onnx -o resnet50_i8.onnx \\
        --assay ../../build/bin/assay --images 50

Calibration and judged images are random, of different seeds. With --assay the quantised model is
compiled and run on each of `--images` images. Printed: on how many images the largest output is
that of the f32 model, in ONNX Runtime and here, and where both quantised ones agree.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import version_converter
from onnxruntime import quantization

PER_CHANNEL_OPSET = 13  # the first whose DequantizeLinear has an axis


def images(name, shape, count, seed):
    random = numpy.random.default_rng(seed)
    for _ in range(count):
        yield {name: random.normal(size=shape).astype("float32")}


class Calibration(quantization.CalibrationDataReader):
    def __init__(self, name, shape, count):
        self.left = images(name, shape, count, 1)

    def get_next(self):
        return next(self.left, None)


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def quantise(options, name, shape):
    prepared = pathlib.Path(options.output).with_suffix(".prepared.onnx")
    model = onnx.load(options.model)
    if next(o.version for o in model.opset_import if o.domain == "") < PER_CHANNEL_OPSET:
        model = version_converter.convert_version(model, PER_CHANNEL_OPSET)
    onnx.save(model, prepared)
    quantization.quant_pre_process(str(prepared), str(prepared), skip_symbolic_shape=True)
    form = (
        quantization.QuantFormat.QDQ
        if options.form == "qdq"
        else quantization.QuantFormat.QOperator
    )
    quantization.quantize_static(
        str(prepared),
        options.output,
        Calibration(name, shape, options.calibration),
        quant_format=form,
        per_channel=options.per_channel,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )
    prepared.unlink()


def ours(options, feeds):
    """The outputs of the compiled model, and its measured time."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = f"{folder}/bundle"
        words = [options.assay, "compile", options.output, "-o", bundle]
        subprocess.run([*words, "--profile", options.profile], check=True, stdout=sys.stderr)
        for feed in feeds:
            value = next(iter(feed.values()))
            value.tofile(f"{folder}/input")
            words = [options.assay, "run", bundle, "--device", options.device, "--patience", "0"]
            files = ["--input", f"{folder}/input", "--output", f"{folder}/output"]
            said = subprocess.run(
                [*words, *files, "--repeat", "1", "--format", "json"],
                check=True,
                capture_output=True,
                text=True,
            )
            yield numpy.fromfile(f"{folder}/output", "float32"), json.loads(said.stdout)[
                "measured_s"
            ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--form", choices=["qdq", "qoperator"], default="qdq")
    parser.add_argument("--per-channel", action="store_true")
    parser.add_argument("--calibration", type=int, default=8, help="images; default 8")
    parser.add_argument("--images", type=int, default=50, help="judged ones; default 50")
    parser.add_argument("--assay", help="the program; without it only ONNX Runtime runs")
    parser.add_argument("--profile", default="generic/x86-avx512-2core")
    parser.add_argument("--device", default="cpu:0")
    options = parser.parse_args()

    whole = session(options.model)
    name, shape = whole.get_inputs()[0].name, whole.get_inputs()[0].shape
    quantise(options, name, shape)
    feeds = list(images(name, shape, options.images, 2))
    tops = lambda outputs: numpy.array([int(numpy.argmax(o)) for o in outputs])  # noqa: E731
    wanted = tops(whole.run(None, f)[0] for f in feeds)
    narrow = session(options.output)
    peer = [narrow.run(None, f)[0].ravel() for f in feeds]
    result = {
        "nodes": len(onnx.load(options.output).graph.node),
        "images": len(feeds),
        "onnxruntime_agrees": int(numpy.count_nonzero(tops(peer) == wanted)),
    }
    if options.assay:
        found = list(ours(options, feeds))
        got = [values for values, _ in found]
        result["assay_agrees"] = int(numpy.count_nonzero(tops(got) == wanted))
        result["same_as_onnxruntime"] = int(numpy.count_nonzero(tops(got) == tops(peer)))
        scale = max(float(numpy.abs(p).max()) for p in peer)
        off = [numpy.abs(a - b) for a, b in zip(got, peer)]
        result["mean_difference"] = float(numpy.mean(off)) / scale
        result["largest_difference"] = float(numpy.max(off)) / scale
        result["measured_s"] = float(numpy.median([seconds for _, seconds in found]))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
