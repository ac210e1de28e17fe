#!/usr/bin/env python3
"""Every model of build_cases.py is compiled, and runs like the float64 evaluation, like the output
that the case gives, and like ONNX Runtime. Skipped without the environment of scripts/venv.sh.

test_cases.py [Cases.test_NAME...]
"""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ASSAY = os.environ.get("ASSAY", os.path.join(ROOT, "build", "bin", "assay"))
PROFILE = "generic/x86-avx512-2core"

sys.path[:0] = [HERE, os.path.join(ROOT, "tests")]
from in_venv import enter_venv, skip_unless_installed  # noqa: E402


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(
            f"{' '.join(command)}\nstatus {done.returncode}\n{done.stdout[-2000:]}"
        )
    return done.stdout


class Cases(unittest.TestCase):
    def check(self, case):
        import build_cases

        with tempfile.TemporaryDirectory() as folder:
            path, bundle = os.path.join(folder, "model.onnx"), os.path.join(folder, "bundle")
            build_cases.save(case, path)
            run(ASSAY, "compile", path, "--profile", PROFILE, *case.options, "-o", bundle)
            measure = [
                ASSAY,
                "run",
                bundle,
                "--device",
                "cpu:0",
                "--repeat",
                "1",
                "--patience",
                "0",
            ]
            given = ["--input", f"{path}.input"] if case.values is not None else []
            self.assertIn("verified: ", run(*measure, *given, "--check"))
            if case.expected is not None:
                expected = f"{path}.output"
                self.assertIn("verified: ", run(*measure, *given, "--reference", expected))
            if case.values is None:
                reference = os.path.join(ROOT, "examples", "models", "reference.py")
                run(sys.executable, reference, path, "--output-dir", folder, *case.options)
                files = [os.path.join(folder, f) for f in ("input.bin", "output.bin")]
                against = ["--input", files[0], "--reference", files[1]]
                self.assertIn("verified: ", run(*measure, *against))


def add_tests():
    import build_cases

    for build in build_cases.CASES:

        def test(self, build=build):
            for case in build():
                with self.subTest(case.name):
                    self.check(case)

        setattr(Cases, f"test_{build.__name__}", test)


if __name__ == "__main__":
    enter_venv()
    skip_unless_installed()
    add_tests()
    unittest.main()
