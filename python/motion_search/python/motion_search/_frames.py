"""Frames between frames, and frames without noise."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Literal, Sequence, Tuple, Union

import numpy

from motion_search import _native
from motion_search._search import check

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The samples of a frame: luma, `(height, width)`; or `(y, u, v)`, where chroma has as many samples as luma, half the columns, or half
#: of both; or `(y, uv)` with interleaved chroma, `(rows, columns, 2)`, as NV12 has it. All uint8 or all uint16.
Planes = Union["NDArray[Any]", Tuple["NDArray[Any]", ...]]


def check_all(**settings: Any) -> None:
    """Checks the settings that are not `None`."""
    for name, value in settings.items():
        if value is not None:
            check(name, value)


def interpolate(
    a: Planes,
    b: Planes,
    at: float | Sequence[float] = 0.5,
    *,
    quality: Literal["fast", "balanced", "high"] = "balanced",
    before: Planes | None = None,
    after: Planes | None = None,
    scene_cut: float = 40.0,
    bit_depth: int | None = None,
    levels: tuple[int, int] | None = None,
    device: str = "auto",
    threads: int = 0,
) -> list[Any]:
    """Makes frames between two frames, along the motion between them.

    Args:
        a: the earlier frame: luma, or planes as `Planes` says.
        b: the later frame, of the same sizes and type.
        at: when the frames are, from 0, the time of `a`, to 1, that of `b`, without both; to the nearest fraction with a denominator
            of at most 1024. One or several.
        quality: `"high"` also uses `before` and `after`.
        before: the frame before `a`, as long before it as `b` is after it. It counts with `after` and `quality="high"` alone.
        after: the frame after `b`.
        scene_cut: how much of the structure, in percent, has no match in frames of different scenes. Between these, the nearer one of
            both frames is returned. 100 makes frames between all.
        bit_depth: bits of the samples in arrays of uint16, if they are fewer than 16.
        levels: `(black, white)`: the part of the range of deep samples in which motion is searched.
        device: as in `Settings`.
        threads: threads of the CPU; 0 for one a core.

    Returns:
        A list with a frame for each moment, as `a` is: an array, or a tuple of arrays.

    Raises:
        TypeError: for arrays of another kind.
        ValueError: for frames of different sizes, moments that are not between them, and values that do not exist.
        RuntimeError: if a device fails.
    """
    check_all(device=device, threads=threads, bit_depth=bit_depth, levels=levels)
    moments = [at] if isinstance(at, (int, float, Fraction, numpy.number)) else list(at)
    phases = []
    for moment in moments:
        if not 0 < moment < 1:
            raise ValueError(f"at has {moment}: a moment between two frames is above 0 and below 1")
        phase = Fraction(float(moment)).limit_denominator(1024)
        if phase in (0, 1):
            raise ValueError(f"at has {moment}: it is nearer to a frame than 1/1024 of the time between both")
        phases.append((phase.numerator, phase.denominator))
    if (before is None) != (after is None):
        raise ValueError("before and after count together: give both or none of them")
    if before is not None and quality != "high":
        raise ValueError(f'before and after do not count with quality="{quality}": use quality="high", or leave them out')
    frames, names = ([a, b], ["a", "b"]) if before is None else ([before, a, b, after], ["before", "a", "b", "after"])
    return _native.interpolate(
        frames,
        names,
        phases,
        quality=quality,
        scene_cut=scene_cut,
        bit_depth=bit_depth,
        levels=levels,
        device=device,
        threads=threads,
    )


def denoise(
    frames: Iterable[Planes],
    *,
    strength: float = 1.0,
    noise_level: float | None = None,
    spatial: bool = True,
    past: int = 2,
    future: int = 2,
    bit_depth: int | None = None,
    levels: tuple[int, int] | None = None,
    device: str = "auto",
    threads: int = 0,
) -> Iterator[Any]:
    """Takes noise out of the frames of a stream, by averaging each with those before and after it along the motion.

    Frames without noise come out as they are.

    Args:
        frames: luma, or planes as `Planes` says, all of one size and type. Arrays that can be written into are copied, so that they may
            be used again for the next frame; read-only ones are kept.
        strength: how much is taken out, 0 to 16: a factor of the variance of the noise.
        noise_level: the standard deviation of the noise in levels of eight bits, 0 to 64; None measures it in each frame.
        spatial: whether noise is also taken out inside frames, of flat areas where other frames leave it.
        past: how many earlier frames each is averaged with, 0 to 4.
        future: how many later frames, by which the first one comes out later.
        bit_depth: bits of the samples in arrays of uint16, if they are fewer than 16.
        levels: `(black, white)`: the part of the range of deep samples in which motion is searched.
        device: where motion is searched and frames are averaged, as in `Settings`.
        threads: threads of the CPU; 0 for one a core.

    Returns:
        An iterator with one frame for each of `frames`, as these are: arrays, or tuples of arrays.

    Raises:
        TypeError, ValueError, RuntimeError: as `interpolate`, with the number of the frame.
    """
    check_all(device=device, threads=threads, bit_depth=bit_depth, levels=levels)
    for name, number in (("past", past), ("future", future)):
        if not isinstance(number, Integral) or not 0 <= number <= 4:
            raise ValueError(f"{name} is {number!r}: use 0 to 4")
    stream = _native.Denoise(
        strength=strength,
        noise_level=noise_level,
        spatial=spatial,
        past=past,
        future=future,
        bit_depth=bit_depth,
        levels=levels,
        device=device,
        threads=threads,
    )
    return _denoised(iter(frames), stream)


def _denoised(frames: Iterator[Planes], stream: _native.Denoise) -> Iterator[Any]:
    for number, frame in enumerate(frames):
        yield from _repeated(stream.take(frame, f"frame {number}"))
    yield from _repeated(stream.finish())


def _repeated(frames: Iterable[tuple[Any, int]]) -> Iterator[Any]:
    """Each frame, and a copy of it for each one that repeated it."""
    for frame, repeats in frames:
        for _ in range(repeats):
            yield tuple(plane.copy() for plane in frame) if isinstance(frame, tuple) else frame.copy()
        yield frame
