"""What runs on a node: one call of ``motion-vectors``.

The driver sends this module by value, so that a node needs Ray and ``motion-vectors`` and not this package. It uses
the standard library alone, and returns plain values.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from typing import Any, TypedDict

# An outcome's code if the node cannot do it: nothing was searched.
UNFIT = -1


class Outcome(TypedDict):
    """What a call has done. ``report`` is what the program printed as JSON."""

    code: int
    report: dict[str, Any]
    error: str
    seconds: float


def version(program: str) -> str:
    """The program's name and version; OSError if it does not run."""
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()


def call(program: str, wanted: str, needed: dict[str, int | None], folder: str, arguments: list[str]) -> Outcome:
    """Runs ``program`` with ``arguments`` in ``folder``, if its version is ``wanted`` and the paths of ``needed`` are
    here, files with these sizes. If this process is killed or its task is cancelled, the program is terminated and
    leaves no file."""
    began = time.monotonic()

    def outcome(code: int, error: str = "", report: dict[str, Any] | None = None) -> Outcome:
        return {"code": code, "report": report or {}, "error": error, "seconds": time.monotonic() - began}

    try:
        found = version(program)
    except (OSError, subprocess.CalledProcessError) as error:
        return outcome(UNFIT, f"{program} does not run: {error}")
    if found != wanted:
        return outcome(UNFIT, f"{program} is {found}, not {wanted}")
    for path, size in needed.items():
        if not os.path.exists(path):
            return outcome(UNFIT, f"{path} is not there: is the shared storage mounted?")
        if size is not None and os.path.getsize(path) != size:
            return outcome(UNFIT, f"{path} has {os.path.getsize(path)} bytes, not {size}")

    # The kernel terminates the program when this process dies, even by SIGKILL.
    guard = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
    command, pipe = [*guard, program, *arguments], subprocess.PIPE
    process = subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True)
    try:
        while True:
            try:
                # Between two waits the exception of a cancelled task gets through.
                text, errors = process.communicate(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                pass
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
    lines = [line.removeprefix("motion-vectors: ") for line in errors.splitlines()]
    if process.returncode != 0:
        why = "; ".join(lines[-3:]) or f"{program} ended with code {process.returncode}"
        return outcome(process.returncode if process.returncode > 0 else 1, why)
    return outcome(0, report=json.loads(text))
