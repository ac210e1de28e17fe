"""The virtual environment of scripts/venv.sh, for tests in Python."""

import importlib.util
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEEDED = ("numpy", "onnx", "onnxruntime")


def installed():
    return all(importlib.util.find_spec(p) for p in NEEDED)


def enter_venv():
    """Starts again in the virtual environment if this Python lacks what it has."""
    venv = os.environ.get("ASSAY_VENV", os.path.join(ROOT, "build", "venv"))
    python = os.path.join(venv, "bin", "python")
    if not installed() and os.path.exists(python) and "ASSAY_IN_VENV" not in os.environ:
        os.environ["ASSAY_IN_VENV"] = "1"
        os.execv(python, [python] + sys.argv)


def skip_unless_installed():
    if not installed():
        print(f"skipped: {', '.join(NEEDED)} are not all installed (scripts/venv.sh)")
        sys.exit(77)
