"""A video, and what of it is on the shared storage: the whole truth about what is done.

For ``clip.mp4`` the output folder has ``clip.mp4.bin`` (or ``.bin.zst``) and, when that is complete, ``clip.mp4.json``
with what it is. Until then there is a folder ``clip.mp4.pieces`` with ``plan.json`` and a file for each span that was
searched, named by its range. All files get their names when they are complete.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from motion_ray.schedule import Span


class JobError(Exception):
    """Why a video cannot be searched."""


@dataclass(frozen=True)
class Identity:
    """By what the vectors of a video are told from others."""

    video: str
    bytes: int
    program: str
    properties: tuple[str, ...]
    zstd: bool

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {**self.__dict__, "properties": list(self.properties)}

    def difference(self, other: dict[str, Any]) -> str | None:
        """In what the record ``other`` differs."""
        for name, mine in self.record().items():
            if other.get(name) != mine:
                return f"{name} {json.dumps(other.get(name))}, not {json.dumps(mine)}"
        return None


@dataclass
class Job:
    """One video to be searched into a folder."""

    video: Path
    identity: Identity
    folder: Path
    ranges: list[tuple[str, str]] = field(default_factory=list)
    parts: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The video's file name."""
        return self.identity.video

    @property
    def out(self) -> Path:
        """The joined file."""
        return self.folder / f"{self.name}.bin{'.zst' if self.identity.zstd else ''}"

    @property
    def pieces(self) -> Path:
        """The folder of the pieces."""
        return self.folder / f"{self.name}.pieces"

    @property
    def _record(self) -> Path:
        return self.folder / f"{self.name}.json"

    def finished(self) -> dict[str, Any] | None:
        """What was written when the job was finished, if it was."""
        record = self._read(self._record)
        if record is None or not self.out.exists():
            return None
        return record

    def finish(self, report: dict[str, Any]) -> None:
        """Writes that the joined file is complete, and deletes the pieces."""
        _write(self._record, {**self.identity.record(), **report})
        shutil.rmtree(self.pieces, ignore_errors=True)

    def load_plan(self) -> bool:
        """Reads the plan of an earlier run, if there is one."""
        record = self._read(self.pieces / "plan.json")
        if record is None:
            return False
        self._use(record["plan"])
        return True

    def store_plan(self, plan: dict[str, Any]) -> None:
        """Takes what ``motion-vectors --plan --json`` printed."""
        self.pieces.mkdir(parents=True, exist_ok=True)
        _write(self.pieces / "plan.json", {**self.identity.record(), "plan": plan})
        self._use(plan)

    def range(self, span: Span) -> str:
        """The range of a span, as ``motion-vectors`` takes it."""
        return f"{self.ranges[span.first][0]}:{self.ranges[span.end - 1][1]}"

    def piece(self, span: Span) -> Path:
        """The file of a span."""
        return self.pieces / f"{self.range(span).replace(':', '-')}.bin"

    def done(self) -> list[Span]:
        """The spans whose pieces are there, in order."""
        firsts = {start: index for index, (start, _) in enumerate(self.ranges)}
        ends = {end: index + 1 for index, (_, end) in enumerate(self.ranges)}
        spans = []
        for path in self.pieces.glob("[!.]*.bin"):
            start, _, end = path.stem.partition("-")
            if start not in firsts or end not in ends or firsts[start] >= ends[end]:
                raise JobError(f"{path} is none of the pieces that are planned: delete it")
            spans.append(Span(self.name, firsts[start], ends[end]))
        spans.sort(key=lambda span: span.first)
        for before, after in itertools.pairwise(spans):
            if after.first < before.end:
                raise JobError(f"{self.piece(before)} and {self.piece(after)} overlap: delete one of them")
        return spans

    def gaps(self) -> list[Span]:
        """The spans between those whose pieces are there."""
        gaps, at = [], 0
        for span in [*self.done(), Span(self.name, len(self.ranges), len(self.ranges))]:
            if at < span.first:
                gaps.append(Span(self.name, at, span.first))
            at = span.end
        return gaps

    def _use(self, plan: dict[str, Any]) -> None:
        self.ranges = [(start, end) for start, _, end in (text.partition(":") for text in plan["ranges"])]
        times = [(float(start or plan["start"]), float(end or plan["end"])) for start, end in self.ranges]
        self.parts = [max(end - start, 1e-3) for start, end in times]

    def _read(self, path: Path) -> dict[str, Any] | None:
        try:
            record: dict[str, Any] = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise JobError(f"{path} cannot be read ({error}): delete it") from error
        if difference := self.identity.difference(record):
            raise JobError(f"{path} is of another search, with {difference}: delete it, or choose another folder")
        return record


def _write(path: Path, record: dict[str, Any]) -> None:
    """Writes JSON to a file that is there when it is complete."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w") as file:
            json.dump(record, file)
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
