#!/usr/bin/env python3
"""The operators of ONNX Runtime's domain, those that sample and recurrent ones, against it.

All are nodes of one model, each with inputs of its own, so that one compilation tests them all. It
runs in the virtual environment of scripts/venv.sh, or is skipped without one. ASSAY names the
program.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

sys.path.insert(0, os.path.join(ROOT, "tests"))
from in_venv import enter_venv, installed  # noqa: E402

if __name__ == "__main__":
    enter_venv()

MICROSOFT = "com.microsoft"


class Model:
    """Nodes without a common value; constants are initialisers, the rest are inputs."""

    def __init__(self):
        import numpy

        self.random = numpy.random.default_rng(0)
        self.nodes, self.inputs, self.constants, self.outputs = [], {}, {}, []

    def uniform(self, *shape, low=-1.0, high=1.0):
        return self.random.uniform(low, high, shape).astype("float32")

    def integers(self, *shape, low=0, high=2, kind="int32"):
        return self.random.integers(low, high, shape).astype(kind)

    def add(self, op, operands, constants=(), outputs=(0,), domain=MICROSOFT, **attributes):
        """`constants` and `outputs` are places of operands and outputs."""
        from onnx import helper

        name, names = f"{op}{len(self.nodes)}", []
        for place, value in enumerate(operands):
            names.append("" if value is None else f"{name}.{place}")
            if value is not None:
                kept = self.constants if place in constants else self.inputs
                kept[names[-1]] = value
        made = [f"{name}.y{i}" if i in outputs else "" for i in range(max(outputs) + 1)]
        self.outputs += [m for m in made if m]
        self.nodes.append(helper.make_node(op, names, made, name=name, domain=domain, **attributes))

    def proto(self):
        from onnx import ValueInfoProto, helper, numpy_helper

        def info(name, array):
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            return helper.make_tensor_value_info(name, kind, array.shape)

        graph = helper.make_graph(
            self.nodes,
            "fusions",
            [info(name, array) for name, array in self.inputs.items()],
            [],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        for name in self.outputs:
            graph.output.append(ValueInfoProto(name=name))
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def add_products(m):
    u = m.uniform
    for name, parameters in (
        ("Relu", []),
        ("Tanh", []),
        ("Sigmoid", []),
        ("LeakyRelu", [0.3]),
        ("Clip", [-0.2, 0.4]),
        ("HardSigmoid", [0.3, 0.4]),
    ):
        extra = {"activation_params": parameters} if parameters else {}
        m.add(
            "FusedConv",
            [u(2, 4, 6, 5), u(6, 2, 3, 3), u(6)],
            (1, 2),
            activation=name,
            pads=[1, 1, 1, 1],
            strides=[2, 1],
            group=2,
            **extra,
        )
    residual = [u(1, 4, 6, 5), u(6, 4, 3, 3), u(6), u(1, 6, 6, 5)]
    m.add("FusedConv", residual, (1, 2), activation="Relu", pads=[1, 1, 1, 1])
    m.add("FusedMatMul", [u(2, 4, 3), u(2, 5, 4)], transA=1, transB=1, alpha=0.5)
    m.add("FusedMatMul", [u(4, 2, 3), u(5, 2, 4)], transA=1, transBatchA=1, transB=1, transBatchB=1)
    gemm = {"transB": 1, "alpha": 0.7, "beta": 0.3}
    m.add(
        "FusedGemm",
        [u(3, 4), u(5, 4), u(5)],
        (1, 2),
        activation="LeakyRelu",
        activation_alpha=0.2,
        **gemm,
    )


def add_gelus_and_norms(m):
    u, words = m.uniform, m.integers
    wide = lambda: u(2, 3, 8, low=-4, high=4)  # noqa: E731
    m.add("BiasGelu", [wide(), u(8)], (1,))
    m.add("FastGelu", [wide(), u(8)], (1,))
    m.add("FastGelu", [wide()])
    m.add("Gelu", [wide()])
    m.add("QuickGelu", [wide()], alpha=1.1)
    skip = [u(2, 3, 8), u(3, 8), u(8), u(8), u(8)]
    m.add("SkipLayerNormalization", skip, (2, 3, 4), (0, 3), epsilon=1e-3)
    m.add("SkipSimplifiedLayerNormalization", [u(2, 3, 8), u(2, 3, 8), u(8)], (2,))
    m.add("SimplifiedLayerNormalization", [u(2, 3, 8), u(8)], (1,), domain="", epsilon=1e-3)
    tables = [u(10, 8), u(7, 8), u(2, 8), u(8), u(8)]
    m.add(
        "EmbedLayerNormalization",
        [words(2, 5, high=10), words(2, 5), *tables, words(2, 5)],
        (2, 3, 4, 5, 6),
        (0, 1, 2),
    )


def add_attention(m):
    u, words = m.uniform, m.integers
    heads, weights = {"num_heads": 3}, [u(6, 36), u(36)]
    lengths = m.integers(2, low=3, high=6)
    for mask in (None, words(2, 5), words(2, 5, 5), lengths):
        m.add("Attention", [u(2, 5, 6), *weights, mask], (1, 2), unidirectional=1, **heads)
    past = [u(2, 5, 6), *weights, None, u(2, 2, 3, 4, 4)]
    m.add("Attention", past, (1, 2), (0, 1), **heads)
    qkv = [u(2, 5, 12), u(2, 7, 12), u(2, 7, 6)]
    m.add("MultiHeadAttention", qkv, **heads)
    full = [*qkv, u(30), words(2, 7), u(2, 3, 5, 7)]
    m.add("MultiHeadAttention", full, (3,), scale=0.7, mask_filter_value=-3.0, **heads)
    caches = [u(2, 5, 12), u(2, 5, 12), u(2, 5, 12), None, None, None, u(2, 3, 2, 4), u(2, 3, 2, 4)]
    m.add("MultiHeadAttention", caches, (), (0, 1, 2), unidirectional=1, **heads)
    for interleaved in (0, 1):
        places = m.integers(2, 5, high=9, kind="int64")
        operands = [u(2, 5, 12), places, u(9, 2), u(9, 2)]
        m.add("RotaryEmbedding", operands, (2, 3), interleaved=interleaved)


def add_sampling(m):
    u = m.uniform
    for mode in ("nearest", "linear", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            m.add(
                "GridSample",
                [u(2, 3, 5, 4), u(2, 3, 4, 2, low=-2.3, high=2.3)],
                domain="",
                mode=mode,
                padding_mode=padding,
                align_corners=len(m.nodes) % 2,
            )
    boxes = u(5, 4, low=0, high=3) + m.random.permuted([[0, 0, 6, 5]] * 5, axis=0).astype("float32")
    images = m.integers(5, kind="int64")
    for coordinates in ("half_pixel", "output_half_pixel"):
        m.add(
            "RoiAlign",
            [u(2, 3, 7, 9), boxes, images],
            domain="",
            coordinate_transformation_mode=coordinates,
            output_height=3,
            output_width=2,
            sampling_ratio=2,
            spatial_scale=0.8,
        )


RECURRENT = {  # gates; activations with parameters, for two directions
    "LSTM": (4, ["HardSigmoid", "Tanh", "Elu", "Sigmoid", "Softsign", "ScaledTanh"]),
    "GRU": (3, ["HardSigmoid", "LeakyRelu", "Sigmoid", "Affine"]),
    "RNN": (1, ["ThresholdedRelu", "Tanh"]),
}


def add_recurrent(m):
    u, steps, batch, inputs, hidden = m.uniform, 4, 3, 5, 6
    for op, (gates, activations) in RECURRENT.items():
        is_lstm, rows = op == "LSTM", gates * hidden
        for case in range(4):
            both, lengths = case % 2 == 1, m.integers(batch, low=1, high=steps + 1)
            d = 2 if both else 1
            state = u(d, batch, hidden) if case else None
            operands = [u(steps, batch, inputs), u(d, rows, inputs), u(d, rows, hidden)]
            operands += [u(d, 2 * rows), lengths if case > 1 else None, state]
            chosen = {"direction": "bidirectional" if both else ("reverse" if case else "forward")}
            if is_lstm:
                operands += [state, u(d, 3 * hidden) if case > 1 else None]
                chosen["input_forget"] = int(case == 3)
            if op == "GRU":
                chosen["linear_before_reset"] = case // 2
            if case == 3:
                chosen |= {"activations": activations, "clip": 0.6}
                chosen["activation_alpha"] = [0.3, 0.4, 0.5, 0.6]
                chosen["activation_beta"] = [0.45, 0.55]
            outputs = (0, 1, 2) if is_lstm else (0, 1)
            m.add(op, operands, (1, 2, 3, 7), outputs, "", hidden_size=hidden, **chosen)


@unittest.skipUnless(installed(), "onnxruntime is not installed (scripts/venv.sh)")
@unittest.skipUnless(os.environ.get("ASSAY"), "no assay: $ASSAY names it")
class Fusions(unittest.TestCase):
    def verify(self, model):
        import numpy
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        proto = model.proto().SerializeToString()
        session = onnxruntime.InferenceSession(proto, options, providers=["CPUExecutionProvider"])
        wanted = session.run(None, model.inputs)
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)  # noqa: E731
            with open(path("m.onnx"), "wb") as file:
                file.write(proto)
            for name, arrays in (("input", model.inputs.values()), ("output", wanted)):
                numpy.concatenate([numpy.ravel(a).astype("f4") for a in arrays]).tofile(path(name))
            compile_words = ["compile", path("m.onnx"), "-o", path("bundle")]
            self.assay(*compile_words, "--profile", "generic/x86-avx512-2core")
            files = ["--input", path("input"), "--reference", path("output")]
            words = ["run", path("bundle"), "--device", "cpu:0", "--repeat", "1", *files]
            return self.assay(*words), sum(a.size for a in wanted)

    def assay(self, *words):
        answer = subprocess.run(
            [os.environ["ASSAY"], *words], capture_output=True, text=True, check=False
        )
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        return answer.stdout

    def check(self, *adders):
        model = Model()
        for adder in adders:
            adder(model)
        said, count = self.verify(model)
        found = re.search(r"^verified: (\d+) values .* max relative error (\S+)$", said, re.M)
        self.assertIsNotNone(found, said)
        self.assertEqual(int(found.group(1)), count)
        self.assertLess(float(found.group(2)), 1e-5)

    def test_products_and_convolutions(self):
        self.check(add_products)

    def test_gelus_and_normalisations(self):
        self.check(add_gelus_and_norms)

    def test_attention(self):
        self.check(add_attention)

    def test_sampling(self):
        self.check(add_sampling)

    def test_recurrent(self):
        self.check(add_recurrent)


if __name__ == "__main__":
    unittest.main()
