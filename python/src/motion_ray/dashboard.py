"""How far the search is: a line a worker."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass
from typing import Any

#: Between two updates on a terminal and elsewhere, in seconds.
_TERMINAL, _ELSEWHERE = 0.5, 30.0


@dataclass
class Line:
    """A worker's line."""

    rate: float | None = None
    device: str = ""
    at: str = ""

    def text(self, name: str) -> str:
        rate = f"{self.rate:9.1f} frames/s" if self.rate else " " * 18
        return f"{name:<24} {rate}  {self.at or 'idle':<28}  {self.device}"


class Dashboard:
    """Shows workers on standard error: in place on a terminal, otherwise now and then."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.lines: dict[str, Line] = {}
        self._quiet, self._terminal = quiet, sys.stderr.isatty()
        self._began = self._shown = time.monotonic()
        self._height = self._ranges = self._frames = 0
        self._seconds = 0.0

    def count(self, worker: str, report: dict[str, Any], seconds: float) -> None:
        """A worker has searched a range with ``seconds`` of video."""
        self._ranges += 1
        self._frames += report["frames"]
        self._seconds += seconds
        if line := self.lines.get(worker):
            line.rate, line.device = report.get("frames_per_second"), report.get("device") or line.device

    def say(self, text: str) -> None:
        """Shows a line above those of the workers."""
        if not self._quiet:
            self._clear()
            print(f"motion_ray: {text}", file=sys.stderr, flush=True)

    def show(self) -> None:
        """Shows the workers, if it is time."""
        now = time.monotonic()
        if self._quiet or now - self._shown < (_TERMINAL if self._terminal else _ELSEWHERE):
            return
        self._shown = now
        columns, rows = shutil.get_terminal_size() if self._terminal else (1000, 1000)
        texts = [line.text(name) for name, line in sorted(self.lines.items())]
        if len(texts) > rows - 3:
            texts = [*texts[: rows - 4], f"… and {len(texts) - rows + 4} more"]
        texts.append(self._total(now))
        self._clear()
        print(*(text[: columns - 1] for text in texts), sep="\n", file=sys.stderr, flush=True)
        self._height = len(texts) if self._terminal else 0

    def end(self) -> None:
        """Shows what was done in all."""
        if not self._quiet:
            self._clear()
            print(f"motion_ray: {self._total(time.monotonic())}", file=sys.stderr, flush=True)

    def _total(self, now: float) -> str:
        elapsed = max(now - self._began, 1e-3)
        return (
            f"{self._ranges} ranges, {self._frames} frames, {self._seconds:.0f} s of video in {elapsed:.1f} s: "
            f"{self._frames / elapsed:.1f} frames/s on {len(self.lines)} workers"
        )

    def _clear(self) -> None:
        if self._height:
            print(f"\x1b[{self._height}A\x1b[J", end="", file=sys.stderr)
            self._height = 0
