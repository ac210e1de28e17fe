"""The Assay side: compiles operators and runs the bundles, a process each."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

from gpu.operators import MODELS, work_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKERS = 12  # compilers at a time
COMPILE_S, MODEL_S, RUN_S = 60, 150, 60  # seconds that one process may take
CHECKED = 1 << 31  # multiply-adds or elements that are evaluated in float64 in a second or so
JSON = ["--format", "json"]


def started(command, seconds):
    """A command's exit status (None: it took too long), standard output, and all output."""
    try:
        out = subprocess.run(
            [str(word) for word in command], capture_output=True, timeout=max(1, seconds)
        )
        return (
            out.returncode,
            out.stdout.decode(errors="replace"),
            (out.stdout + out.stderr).decode(errors="replace"),
        )
    except subprocess.TimeoutExpired as late:
        output = b"\n".join(filter(None, (late.stdout, late.stderr))).decode(errors="replace")
        return None, "", f"error: stopped after {late.timeout:.0f} s\n{output}"
    except OSError as fault:
        return -1, "", f"error: {fault}"


def why(output):
    """The line of a failed command's output that says why."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next(
        (line for line in lines if "error" in line), lines[-1] if lines else "it printed nothing"
    )[:160]


def compiled(text, folder, options, until):
    """Makes the bundle in `folder`. Returns why there is none ("" for success), and the output."""
    steps = [
        (
            "compile",
            [
                options.assay,
                "compile",
                "--op",
                text,
                "--profile",
                options.profile,
                "-o",
                folder,
                *JSON,
            ],
            COMPILE_S,
        )
    ]
    if text in MODELS:
        script, *flags = MODELS[text]
        model = f"{folder}.onnx"
        steps = [
            (
                "model",
                [sys.executable, ROOT / "examples/models" / script, *flags, "-o", model],
                MODEL_S,
            ),
            (
                "compile",
                [
                    options.assay,
                    "compile",
                    model,
                    "--profile",
                    options.profile,
                    "-o",
                    folder,
                    *JSON,
                ],
                MODEL_S,
            ),
        ]
    for name, command, most in steps:
        left = until - time.monotonic()
        if left <= 0:
            return f"{name}: out of time", ""
        status, out, output = started(command, min(most, left))
        if status != 0:
            return f"{name}: {why(output)}", output
    return "", out


def compile_all(texts, folder, options, until, log):
    """Bundles of all operators, several compilers at a time.

    Returns for each operator its folder, why there is no bundle, and the seconds predicted.
    """
    folders = [os.path.join(folder, str(number)) for number in range(len(texts))]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        answers = list(
            pool.map(lambda text, to: compiled(text, to, options, until), texts, folders)
        )
    for text, (reason, output) in zip(texts, answers):
        if reason:
            log(f"compile {text}", output or reason)
    return {
        text: (to, reason, 0 if reason else json.loads(output)["predicted_s"])
        for text, to, (reason, output) in zip(texts, folders, answers)
    }


def time_ours(text, bundle, predicted_s, options, until, log):
    """A bundle's columns. Those that failed are absent, and `reason` says why."""
    repeat = max(10, min(options.repeat, int(1 / predicted_s)))  # a second's worth
    command = [
        options.assay,
        "run",
        bundle,
        "--device",
        options.device,
        "--repeat",
        repeat,
        "--warm-up",
        5,
        "--patience",
        0,
        *JSON,
    ]  # the library's side does not repeat either
    if work_of(text) <= CHECKED:
        command.append("--check")
    reason = ""
    for more in (["--recorded"], []):  # not every device can record
        status, out, output = started([*command, *more], min(RUN_S, until + 10 - time.monotonic()))
        if status in (0, 1) and out.startswith("{"):  # 1: it ran, with wrong results
            break
        log(f"run {text} {' '.join(more)}", output)
        reason = f"run: {why(output)}"
    else:
        return {"reason": reason}
    told = json.loads(out)
    row = {
        "ours_us": 1e6 * told["measured_s"],
        "predicted_us": 1e6 * told["predicted_s"],
        "reason": reason,
    }
    if "recorded" in told:
        row["ours_recorded_us"] = 1e6 * told["recorded"]["measured_s"]
    if told["verified"] is not None:
        row["checked"] = "right" if told["verified"] else "WRONG"
    if told["verified"] is False:
        log(f"run {text}: wrong", output)
        row["reason"] = f"wrong by {told['max_relative_error']}"
    return row
