#!/usr/bin/env python3
"""Quantised operators against ONNX Runtime itself: products and sums of integers, ONNX's own and
those of ONNX Runtime's domain, and graphs that quantise and dequantise (QDQ).

All are nodes of one model, as in test_fusions.py. Sums in i32 are equal; of 8-bit results at most
one in fifty is the next step, where the exact value lies near the tie between both.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_fusions import MICROSOFT, Model, enter_venv, installed  # noqa: E402

if __name__ == "__main__":
    enter_venv()


class Quantised(Model):
    def bytes(self, *shape, kind="uint8"):
        # On x86 without VNNI, ONNX Runtime adds pairs of products of u8 and i8 in 16 bits, which
        # saturate beyond these.
        low, high = (0, 256) if kind == "uint8" else (-64, 65)
        return self.integers(*shape, low=low, high=high, kind=kind)

    def scale(self, value, count=None):
        import numpy

        if count is None:
            return numpy.array(value, "float32")
        return self.uniform(count, low=value / 2, high=value)

    def zero(self, value, kind="uint8"):
        import numpy

        return numpy.array(value, kind)

    def chain(self, nodes, inputs, constants, output):
        """Nodes that read each other: names are made distinct by a prefix."""
        from onnx import helper

        prefix = f"chain{len(self.nodes)}."
        for place, values in ((self.inputs, inputs), (self.constants, constants)):
            place.update({prefix + name: value for name, value in values.items()})
        for op, read, written, attributes in nodes:
            self.nodes.append(
                helper.make_node(
                    op,
                    [prefix + r if r else "" for r in read],
                    [prefix + w for w in written],
                    name=prefix + written[0],
                    **attributes,
                )
            )
        self.outputs.append(prefix + output)


def add_onnx(m):
    b, s, z = m.bytes, m.scale, m.zero
    for za, zb, kind in ((0, 0, "int8"), (7, 0, "int8"), (131, 128, "uint8"), (3, -5, "int8")):
        operands = [b(5, 13), b(13, 9, kind=kind), z(za), z(zb, kind)]
        m.add("MatMulInteger", operands, (1, 2, 3), domain="")
        m.add("MatMulInteger", operands, (2, 3), domain="")  # both operands are inputs
        m.add("MatMulInteger", operands, (), domain="")
    m.add("MatMulInteger", [b(2, 3, 5, 7), b(2, 3, 7, 4), z(9), z(200)], (2, 3), domain="")
    m.add("MatMulInteger", [b(3, 7), b(7, 2, kind="int8")], (1,), domain="")
    for pads in ([0, 0, 0, 0], [1, 2, 1, 0]):
        for zero in (0, 130):
            conv = [b(2, 4, 7, 6), b(6, 2, 3, 3, kind="uint8"), z(zero), z(128)]
            m.add("ConvInteger", conv, (1, 2, 3), domain="", pads=pads, group=2, strides=[2, 1])
    m.add("ConvInteger", [b(1, 3, 5, 5), b(2, 3, 3, 3), z(5), z(9)], (), domain="", pads=[1] * 4)
    for zero, kind, signed in ((128, "uint8", "int8"), (0, "uint8", "uint8"), (-3, "int8", "int8")):
        filters = z(0, signed) if signed == "int8" else z(120)
        x, w = b(2, 3, 9, 8, kind=kind), b(5, 3, 3, 3, kind=signed)
        bias = m.integers(5, low=-4000, high=4000)
        tail = [s(0.11), z(zero, kind)]
        conv = [x, s(0.02), z(zero, kind), w, s(0.01), filters, *tail, bias]
        m.add("QLinearConv", conv, range(1, 9), domain="", pads=[1] * 4)
        m.add("QLinearConv", conv[:8], range(1, 8), domain="", strides=[2, 2])
    zeros = m.integers(5, low=0, high=1, kind="int8")
    each = [b(1, 3, 8, 8), s(0.02), z(99), b(5, 3, 1, 1, kind="int8"), s(0.01, 5), zeros]
    m.add("QLinearConv", [*each, s(0.13), z(77)], range(1, 8), domain="")
    for kind, zero in (("uint8", 113), ("int8", 0)):
        left = [b(4, 12), s(0.02), z(100), b(12, 7, kind=kind), s(0.01), z(zero, kind)]
        m.add("QLinearMatMul", [*left, s(0.3), z(128)], range(1, 8), domain="")
        m.add("QLinearMatMul", [*left, s(0.3), z(128)], (1, 2, 4, 5, 6, 7), domain="")
        m.add("QLinearMatMul", [*left, s(0.3), z(128)], (), domain="")
    for x in (m.uniform(6, 50, low=-3, high=5), m.uniform(40, low=2, high=9), m.uniform(40) * 0):
        m.add("DynamicQuantizeLinear", [x], (), (0, 1, 2), domain="")
    for zero, kind in ((128, "uint8"), (-7, "int8")):
        m.add(
            "QuantizeLinear",
            [m.uniform(3, 50, low=-9, high=9), s(0.05), z(zero, kind)],
            (1, 2),
            domain="",
        )
    several = m.integers(3, low=0, high=256, kind="uint8")
    m.add("QuantizeLinear", [m.uniform(3, 50), s(0.02, 3), several], (1, 2), domain="", axis=0)
    m.add("DequantizeLinear", [b(3, 50), s(0.02, 3), several], (1, 2), domain="", axis=0)
    m.add("DequantizeLinear", [b(3, 50), s(0.02), z(200)], (), domain="")


def add_microsoft(m):
    b, s, z = m.bytes, m.scale, m.zero
    for kind, zero in (("uint8", 120), ("int8", -3)):
        q = lambda *shape: b(*shape, kind=kind)  # noqa: B023, E731
        pair = [q(2, 3, 8), s(0.05), z(zero, kind), q(3, 8), s(0.03), z(zero + 2, kind)]
        constants = (1, 2, 4, 5, 6, 7)
        m.add("QLinearAdd", [*pair, s(0.0617), z(zero + 1, kind)], constants)
        m.add("QLinearMul", [*pair, s(0.11), z(zero, kind)], constants)
        m.add(
            "QLinearSigmoid",
            [q(5, 9), s(0.03), z(zero, kind), s(1 / 256), z(zero, kind)],
            range(1, 5),
        )
        m.add(
            "QLinearLeakyRelu",
            [q(5, 9), s(0.03), z(zero, kind), s(0.02), z(zero, kind)],
            range(1, 5),
            alpha=0.2,
        )
        m.add(
            "QLinearGlobalAveragePool",
            [q(2, 5, 7, 6), s(0.03), z(zero, kind), s(0.01), z(zero, kind)],
            range(1, 5),
        )
        pool = [q(2, 5, 7, 6), s(0.03), z(zero, kind), s(0.0217), z(zero, kind)]
        window = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
        m.add("QLinearAveragePool", pool, range(1, 5), **window)
        parts = [q(2, 3, 4), s(0.03), z(zero, kind), q(2, 5, 4), s(0.05), z(zero, kind)]
        m.add("QLinearConcat", [s(0.05), z(zero, kind), *parts], (0, 1, 3, 4, 6, 7), axis=1)
        m.add(
            "QLinearSoftmax",
            [q(4, 9), s(0.05), z(zero, kind), s(1 / 256), z(zero, kind)],
            range(1, 5),
            axis=-1,
            opset=13,
        )
    a, w = b(6, 15), b(15, 8, kind="int8")
    m.add(
        "MatMulIntegerToFloat",
        [a, w, s(0.02), s(0.01), z(128), z(0, "int8"), m.uniform(8)],
        range(1, 7),
    )
    m.add("MatMulIntegerToFloat", [a, w, s(0.02), s(0.01, 8), z(128)], range(1, 5))
    m.add(
        "DynamicQuantizeMatMul",
        [m.uniform(6, 15), w, s(0.01), z(0, "int8"), m.uniform(8)],
        (1, 2, 3, 4),
    )
    m.add("DynamicQuantizeMatMul", [m.uniform(6, 15), b(15, 8), s(0.01, 8), b(8)], (1, 2, 3))
    bias = m.integers(8, low=-3000, high=3000)
    gemm = [b(6, 15), s(0.02), z(100), b(8, 15), s(0.01), z(128), bias]
    m.add("QGemm", [*gemm, s(0.2), z(128)], range(1, 9), transB=1)
    m.add("QGemm", gemm, range(1, 7), transB=1, alpha=1.0)
    k, n, block = 37, 6, 16
    packed = b(n, (k + block - 1) // block, block // 2)
    scales = m.uniform(n * 3, low=0.01, high=0.1)
    bits = {"K": k, "N": n, "bits": 4, "block_size": block}
    m.add("MatMulNBits", [m.uniform(5, k), packed, scales], (1, 2), **bits)
    m.add("MatMulNBits", [m.uniform(5, k), packed, scales, b(n * 2)], (1, 2, 3), **bits)


def add_qdq(m):
    import numpy

    def tensor(name, zero):  # name.f -> name.q -> name
        return [
            ("QuantizeLinear", [f"{name}.f", f"{name}.s", f"{name}.z"], [f"{name}.q"], {}),
            ("DequantizeLinear", [f"{name}.q", f"{name}.s", f"{name}.z"], [name], {}),
        ]

    for zero, kind, per_channel in ((121, "uint8", False), (0, "int8", True)):
        weights = m.bytes(6, 4, 3, 3, kind="int8")
        constants = {
            "x.s": m.scale(0.03),
            "x.z": m.zero(zero, kind),
            "w.q": weights,
            "w.s": m.scale(0.02, 6) if per_channel else m.scale(0.02),
            "w.z": numpy.zeros(6 if per_channel else (), "int8"),
            "b.q": m.integers(6, low=-500, high=500),
            "b.s": m.scale(0.0006),
            "y.s": m.scale(0.15),
            "y.z": m.zero(zero, kind),
        }
        nodes = [
            *tensor("x", zero),
            ("DequantizeLinear", ["w.q", "w.s", "w.z"], ["w"], {"axis": 0} if per_channel else {}),
            ("DequantizeLinear", ["b.q", "b.s"], ["b"], {}),
            ("Conv", ["x", "w", "b"], ["c"], {"pads": [1] * 4}),
            ("Relu", ["c"], ["y.f"], {}),
            *tensor("y", zero),
            ("Add", ["y", "y"], ["twice"], {}),
        ]
        m.chain(nodes, {"x.f": m.uniform(2, 4, 7, 6, low=-4, high=4)}, constants, "twice")
    for op, shape, extra in (("MatMul", (12, 7), {}), ("Gemm", (7, 12), {"transB": 1})):
        constants = {
            "x.s": m.scale(0.03),
            "x.z": m.zero(100),
            "w.q": m.bytes(*shape, kind="int8"),
            "w.s": m.scale(0.02, 7),
            "w.z": numpy.zeros(7, "int8"),
            "y.s": m.scale(0.1),
            "y.z": m.zero(130),
        }
        nodes = [
            *tensor("x", 100),
            ("DequantizeLinear", ["w.q", "w.s", "w.z"], ["w"], {"axis": 0 if extra else 1}),
            (op, ["x", "w"], ["y.f"], extra),
            *tensor("y", 130),
        ]
        m.chain(nodes, {"x.f": m.uniform(5, 12, low=-3, high=4)}, constants, "y")


def with_distances(model, wanted):
    """The model with what its outputs are off, over what they may be, instead of them: numbers that
    are 0 to 1 where all is right."""
    import numpy
    from onnx import TensorProto, helper, numpy_helper

    proto = model.proto()
    graph = proto.graph
    del graph.output[:]

    def constant(name, value):
        graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    for name, want in zip(model.outputs, wanted):
        whole, bytes_ = want.dtype.kind in "iu", want.dtype.itemsize == 1
        largest = float(numpy.abs(want.astype("f8")).max())
        step = 0.31 if name.startswith("chain") else 0.0  # sums of numbers that were rounded
        least = 1.0 if bytes_ else 1e-6 if whole else 1e-5 * largest + 1e-6
        mean = want.size / 50 + 1 if bytes_ or step else want.size * 1e9
        graph.node.append(helper.make_node("Cast", [name], [name + ".float"], to=TensorProto.FLOAT))
        expected = constant(name + ".w", want.astype("f4"))
        graph.node.append(helper.make_node("Sub", [name + ".float", expected], [name + ".d"]))
        graph.node.append(helper.make_node("Abs", [name + ".d"], [name + ".a"]))
        for kind, over in (("Max", max(least, step)), ("Sum", mean * max(least, step))):
            end = f"{name}.{kind}"
            graph.node.append(
                helper.make_node("Reduce" + kind, [name + ".a"], [end + ".r"], keepdims=0)
            )
            over = constant(end + ".o", numpy.array(over, "f4"))
            graph.node.append(helper.make_node("Div", [end + ".r", over], [end]))
            graph.output.append(helper.make_tensor_value_info(end, TensorProto.FLOAT, []))
    return proto, len(graph.output)


@unittest.skipUnless(installed(), "onnxruntime is not installed (scripts/venv.sh)")
@unittest.skipUnless(os.environ.get("ASSAY"), "no assay: $ASSAY names it")
class QuantisedOperators(unittest.TestCase):
    def reference(self, model):
        """Of ONNX Runtime without its optimisations."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        proto = model.proto().SerializeToString()
        session = onnxruntime.InferenceSession(proto, options, providers=["CPUExecutionProvider"])
        return session.run(None, model.inputs)

    def assay(self, *words, codes=(0,)):
        answer = subprocess.run(
            [os.environ["ASSAY"], *words], capture_output=True, text=True, check=False
        )
        self.assertIn(answer.returncode, codes, answer.stdout + answer.stderr)
        return answer.stdout

    def check(self, adder):
        import numpy

        model = Quantised()
        adder(model)
        wanted = self.reference(model)
        for name, want in zip(model.outputs, wanted):
            if want.size > 9 and not name.startswith("DynamicQuantizeLinear"):
                self.assertGreater(len(numpy.unique(want)), 5, name)
        proto, outputs = with_distances(model, wanted)
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)  # noqa: E731
            with open(path("m.onnx"), "wb") as file:
                file.write(proto.SerializeToString())
            flat = [numpy.ravel(a).astype("f4") for a in model.inputs.values()]
            numpy.concatenate(flat).tofile(path("input"))
            numpy.zeros(outputs, "f4").tofile(path("zeros"))
            words = ["compile", path("m.onnx"), "-o", path("bundle")]
            self.assay(*words, "--profile", "generic/x86-avx512-2core")
            run = ["run", path("bundle"), "--device", "cpu:0", "--repeat", "1", "--patience", "0"]
            files = ["--input", path("input"), "--reference", path("zeros")]
            said = self.assay(*run, *files, codes=(0, 1))
        found = re.search(r": (\d+) values .* max relative error ([^,\s]+)", said)
        self.assertIsNotNone(found, said)
        self.assertEqual(int(found.group(1)), outputs)
        self.assertLessEqual(float(found.group(2)), 1, said)

    def test_onnx(self):
        self.check(add_onnx)

    def test_microsoft(self):
        self.check(add_microsoft)

    def test_qdq(self):
        self.check(add_qdq)


if __name__ == "__main__":
    unittest.main()
