#!/usr/bin/env python3
"""Tests of examples/models. Run as it is; ASSAY_SLOW=1 runs the slow ones instead of the others.

Tests that need onnx or onnxruntime run in the virtual environment of scripts/venv.sh, or are
skipped without one.
"""

import hashlib
import importlib.util
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODELS = os.path.join(ROOT, "examples", "models")
SLOW = os.environ.get("ASSAY_SLOW") == "1"


def installed(*packages):
    return all(importlib.util.find_spec(p) for p in packages)


def enter_venv():
    """Starts again in the virtual environment if this Python lacks what it has."""
    python = os.path.join(
        os.environ.get("ASSAY_VENV", os.path.join(ROOT, "build", "venv")), "bin", "python"
    )
    if (
        not installed("numpy", "onnx", "onnxruntime")
        and os.path.exists(python)
        and "ASSAY_IN_VENV" not in os.environ
    ):
        os.environ["ASSAY_IN_VENV"] = "1"
        os.execv(python, [python] + sys.argv)


if __name__ == "__main__":
    enter_venv()

sys.path.insert(0, MODELS)
import counter_rng  # noqa: E402
import onnx_file  # noqa: E402

needs_numpy = unittest.skipUnless(installed("numpy"), "numpy is not installed")
needs_onnx = unittest.skipUnless(
    installed("numpy", "onnx"), "onnx is not installed (scripts/venv.sh)"
)
needs_runtime = unittest.skipUnless(
    installed("numpy", "onnx", "onnxruntime"), "onnxruntime is not installed (scripts/venv.sh)"
)
fast = unittest.skipIf(SLOW, "not slow")
slow = unittest.skipUnless(SLOW, "slow: ASSAY_SLOW=1")

# The same input gives the same bytes on every machine and with every writer. Update these after an
# intended change of a rule, a name or the generator.
RESNET50_SHA256 = "504391f1c5f27476b75e2fa3bba902e0df1cfd82c66b0e6cfabd3b2392651038"
MOBILENETV2_SHA256 = "05038022d4457684f96f248a9fdec4ad10d89c550141c47aab7b457796f055e9"
TINY_BERT_SHA256 = "3ac3ceaedc61e584da50adfffca762762d899c09c3ad34e255d0180f297ff44e"


# Of seed 0 and name "x".
KNOWN = {
    "fnv": 0xAF63F54C86021707,
    "key": 0x2C782AC22891188E,
    "values": [
        -0.2831748127937317,
        0.8509249091148376,
        -0.18590980768203735,
        -0.8674755692481995,
    ],  # exact: 24 bits and a sign
}


def run(script, *arguments):
    command = [sys.executable, os.path.join(MODELS, script), *arguments]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        raise AssertionError(
            f"{' '.join(command)}\nstatus {result.returncode}\n{result.stdout[-3000:]}"
        )
    return result.stdout


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def initializers(path):
    import onnx

    return {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


class Folder(unittest.TestCase):
    """One folder per class: the models are a hundred megabytes, so they are written once."""

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.folder = holder.name

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def once(self, name, script, *arguments):
        if not os.path.exists(self.path(name)):
            run(script, *arguments, "-o", self.path(name))
        return self.path(name)

    def assert_sound(self, path):
        """Valid for onnx, no constant tensor, no generated node left, activations in range."""
        import numpy
        import onnx

        import reference

        onnx.checker.check_model(path, full_check=True)
        for name, array in initializers(path).items():
            if array.dtype == numpy.float32 and array.size > 1:
                self.assertGreater(array.max(), array.min(), name)
                self.assertTrue(numpy.isfinite(array).all(), name)
        self.assertNotIn("ConstantOfShape", {n.op_type for n in onnx.load(path).graph.node})
        arrays, makers = reference.activations(path, 0)
        for name, array in arrays.items():
            self.assertTrue(numpy.isfinite(array).all(), name)
            if makers[name] != "Softmax":
                self.assertGreater(reference.rms(array), reference.RMS_LOW, name)
                self.assertLess(reference.rms(array), reference.RMS_HIGH, name)
        return arrays


@fast
class Generator(unittest.TestCase):
    def test_known_values(self):
        """Check values for the generator in other languages."""
        self.assertEqual(counter_rng.fnv("x"), KNOWN["fnv"])
        self.assertEqual(counter_rng.key(0, "x"), KNOWN["key"])
        values = struct.unpack("<4f", counter_rng.uniform(0, "x", 4))
        self.assertEqual(list(values), KNOWN["values"])

    def test_scalar_formula(self):
        """The formula of the module's docstring."""
        start = counter_rng.key(7, "conv/w")
        for i, value in enumerate(
            struct.unpack("<9f", counter_rng.uniform(7, "conv/w", 9, 0.25, 0.3))
        ):
            bits = counter_rng.mix((start + (i + 1) * 0x9E3779B97F4A7C15) % 2**64)
            t = (2 * (bits >> 40) + 1 - 2**24) / 2**24
            self.assertEqual(struct.pack("<f", 0.25 + 0.3 * t), struct.pack("<f", value))

    @needs_numpy
    def test_numpy_and_plain_agree(self):
        for seed, name, count, middle, half in (
            (0, "a", 1, 0, 1),
            (3, "b/ü", 1000, 1.0, 0.2),
            (2**63, "c", counter_rng.CHUNK + 5, 0.0, 0.0123),
        ):
            self.assertEqual(
                counter_rng.uniform(seed, name, count, middle, half, plain=True),
                counter_rng.uniform(seed, name, count, middle, half, plain=False),
            )

    def test_distribution(self):
        count = 100000
        values = struct.unpack(f"<{count}f", counter_rng.uniform(1, "d", count))
        self.assertLess(abs(sum(values) / count), 0.01)
        self.assertLess(abs(sum(v * v for v in values) / count - 1 / 3), 0.005)
        self.assertLessEqual(max(values), 1.0)
        self.assertLess(
            max(
                abs(a - b)
                for a, b in zip(sorted(values), (2 * i / count - 1 for i in range(count)))
            ),
            0.02,
        )

    def test_seed_and_name_matter(self):
        start = counter_rng.uniform(0, "a", 8)
        self.assertNotEqual(start, counter_rng.uniform(1, "a", 8))
        self.assertNotEqual(start, counter_rng.uniform(0, "b", 8))


@fast
class Writer(unittest.TestCase):
    def test_varint(self):
        self.assertEqual(onnx_file.varint(0), b"\x00")
        self.assertEqual(onnx_file.varint(300), b"\xac\x02")
        self.assertEqual(onnx_file.varint(-1), b"\xff" * 9 + b"\x01")

    def test_refuses_what_it_cannot_write(self):
        for value in (True, [], None, b"raw"):
            with self.assertRaises(TypeError):
                onnx_file.attribute("a", value)

    @needs_onnx
    def test_onnx_reads_every_attribute_kind(self):
        import onnx

        attributes = {"f": 0.5, "fs": [1.5, -2.0], "i": -3, "is": [4, -5], "s": "text"}
        node = onnx.NodeProto.FromString(
            onnx_file.node(onnx_file.Node("Op", ["x"], ["y"], attributes, "n"))
        )
        self.assertEqual(
            (node.op_type, node.name, list(node.input), list(node.output)),
            ("Op", "n", ["x"], ["y"]),
        )
        read = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        self.assertEqual(read, {**attributes, "s": b"text"})


@fast
class ResNet50(Folder):
    def test_builder_is_deterministic(self):
        first = self.once("built.onnx", "build_resnet50.py")
        self.assertEqual(sha256(first), RESNET50_SHA256)
        second = self.once("built_again.onnx", "build_resnet50.py")
        self.assertEqual(sha256(second), RESNET50_SHA256)

    @needs_onnx
    def test_both_ways_are_equal(self):
        import onnx

        made = self.once("made.onnx", "make_weights.py", "resnet50")
        built = self.once("built.onnx", "build_resnet50.py")
        ours, theirs = initializers(built), initializers(made)
        self.assertEqual(list(ours), list(theirs))
        for name, array in ours.items():
            self.assertEqual(array.shape, theirs[name].shape, name)
            self.assertEqual(array.tobytes(), theirs[name].tobytes(), name)
        self.assertEqual(onnx.load(built).graph.node, onnx.load(made).graph.node)
        self.assertEqual(sha256(built), sha256(made))

    @needs_onnx
    def test_shape_constant_is_kept(self):
        made = self.once("made.onnx", "make_weights.py", "resnet50")
        self.assertEqual(initializers(made)["OC2_DUMMY_1"].tolist(), [1, 2048])

    @needs_runtime
    def test_sound(self):
        for path in (
            self.once("built.onnx", "build_resnet50.py"),
            self.once("made.onnx", "make_weights.py", "resnet50"),
        ):
            output = self.assert_sound(path)["gpu_0/softmax_1"]
            self.assertEqual(output.shape, (1, 1000))
            self.assertAlmostEqual(float(output.sum()), 1.0, places=5)

    @needs_runtime
    def test_reference(self):
        import json

        import numpy

        built = self.once("built.onnx", "build_resnet50.py")
        folder = self.path("reference")
        printed = json.loads(
            run(
                "reference.py",
                built,
                "--output-dir",
                folder,
                "--time",
                "2",
                "--no-spinning",
                "--all-tensors",
                os.path.join(folder, "all"),
            )
        )
        with open(os.path.join(folder, "reference.json")) as file:
            self.assertEqual(json.load(file), printed)
        self.assertEqual(printed["inputs"][0]["shape"], [1, 3, 224, 224])
        self.assertGreater(printed["time"]["median_ms"], 0)
        with open(os.path.join(folder, "input.bin"), "rb") as file:
            self.assertEqual(
                file.read(), counter_rng.uniform(0, "input/gpu_0/data_0", 3 * 224 * 224)
            )
        output = numpy.fromfile(os.path.join(folder, "output.bin"), "<f4")
        with open(os.path.join(folder, "all", "index.json")) as file:
            index = json.load(file)
        self.assertEqual(len(index), 176)  # one per node
        last = numpy.load(os.path.join(folder, "all", index[-1]["file"]))
        # Fused or not, the same sums in another order.
        self.assertLess(numpy.abs(last.ravel() - output).max(), 1e-5 * output.max())


@fast
class MobileNetV2(Folder):
    def test_deterministic_and_without_numpy(self):
        self.assertEqual(sha256(self.once("m.onnx", "build_mobilenetv2.py")), MOBILENETV2_SHA256)
        self.assertEqual(
            sha256(self.once("plain.onnx", "build_mobilenetv2.py", "--plain")), MOBILENETV2_SHA256
        )

    @needs_runtime
    def test_sound(self):
        path = self.once("m.onnx", "build_mobilenetv2.py")
        self.assertEqual(self.assert_sound(path)["probabilities"].shape, (1, 1000))
        weights = sum(array.size for array in initializers(path).values() if array.size > 1)
        running = sum(
            array.size
            for name, array in initializers(path).items()
            if name.endswith((".mean", ".var"))
        )
        self.assertEqual(weights - running, 3504872)  # parameters of the published network


@fast
class TinyBert(Folder):
    def test_deterministic_and_without_numpy(self):
        self.assertEqual(sha256(self.once("b.onnx", "build_bert.py", "--tiny")), TINY_BERT_SHA256)
        self.assertEqual(
            sha256(self.once("plain.onnx", "build_bert.py", "--tiny", "--plain")), TINY_BERT_SHA256
        )

    def reference(self, path):
        """The files of ONNX Runtime's inputs and outputs, each file all tensors concatenated."""
        folder = self.path("reference")
        run("reference.py", path, "--output-dir", folder)
        files = {}
        for kind in ("input", "output"):
            files[kind] = os.path.join(folder, f"{kind}s.bin")
            with open(files[kind], "wb") as joined:
                for name in (f"{kind}.bin", f"{kind}_1.bin"):
                    with open(os.path.join(folder, name), "rb") as part:
                        joined.write(part.read())
        return files

    @needs_runtime
    def test_sound(self):
        import numpy
        import onnx

        import reference

        path = self.once("b.onnx", "build_bert.py", "--tiny")
        onnx.checker.check_model(onnx.load(path), full_check=True)
        session = reference.session_for(path)
        hidden, pooled = session.run(None, reference.make_inputs(session, 0))
        self.assertEqual((hidden.shape, pooled.shape), ((1, 16, 64), (1, 64)))
        self.assertTrue(0.5 < reference.rms(hidden) < 2)
        rows = hidden[0] / numpy.linalg.norm(hidden[0], axis=1, keepdims=True)
        self.assertLess(
            numpy.max(rows @ rows.T - numpy.eye(16)), 0.9
        )  # no two tokens end as the same

    @needs_runtime
    @unittest.skipUnless(os.environ.get("ASSAY"), "no assay: $ASSAY names it")
    def test_assay_agrees_with_the_runtime(self):
        """Imported, compiled, run: token ids looked up, attention, GELU, normalisation."""
        path, assay, bundle = (
            self.once("b.onnx", "build_bert.py", "--tiny"),
            os.environ["ASSAY"],
            self.path("bundle"),
        )
        files = self.reference(path)
        subprocess.run(
            [assay, "compile", path, "--profile", "generic/x86-avx512-2core", "-o", bundle],
            check=True,
            capture_output=True,
        )
        answer = subprocess.run(
            [
                assay,
                "run",
                bundle,
                "--device",
                "cpu:0",
                "--repeat",
                "1",
                "--input",
                files["input"],
                "--reference",
                files["output"],
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        error = float(
            re.search(
                r"^verified: 1088 values .* max relative error (\S+)$", answer.stdout, re.M
            ).group(1)
        )
        self.assertLess(error, 1e-5)


@slow
class Bert(Folder):
    @needs_onnx
    def test_parameters_of_the_published_network(self):
        arrays = initializers(self.once("bert.onnx", "build_bert.py"))
        self.assertEqual(
            sum(a.size for a in arrays.values() if a.size > 1 and a.dtype == "float32"), 109482240
        )


@slow
class ResNet50Plain(Folder):
    def test_same_bytes_without_numpy(self):
        path = self.once("plain.onnx", "build_resnet50.py", "--plain")
        self.assertEqual(sha256(path), RESNET50_SHA256)


@slow
class LightModels(Folder):
    @needs_runtime
    def test_all_are_sound(self):
        for name in (
            "vgg19",
            "squeezenet",
            "densenet121",
            "inception_v1",
            "inception_v2",
            "shufflenet",
            "bvlc_alexnet",
            "zfnet512",
        ):
            with self.subTest(name):
                path = self.once(f"{name}.onnx", "make_weights.py", name)
                self.assert_sound(path)
                os.remove(path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
