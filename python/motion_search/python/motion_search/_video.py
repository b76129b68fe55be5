"""Frames of video files, by PyAV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Literal, Mapping

import numpy

from motion_search import _native
from motion_search._field import Field
from motion_search._search import native_settings, references_of

if TYPE_CHECKING:
    import os

    from av import VideoFrame
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from motion_search._search import Settings


def luma_of(frame: VideoFrame) -> tuple[NDArray[Any], int]:
    """The luma of a frame, where it is if possible, and the bits of its samples."""
    first = frame.format.components[0]
    is_plane = first.is_luma and len(frame.planes) >= 2 or frame.format.name.startswith("gray")
    if not is_plane or (first.bits > 8 and not frame.format.name.endswith("le")) or frame.format.name.startswith("p0"):
        frame = frame.reformat(format="gray")
        first = frame.format.components[0]
    # Releases of PyAV and numpy differ in what they call a buffer.
    plane: Any = frame.planes[0]
    kind = numpy.dtype("uint8" if first.bits == 8 else "<u2")
    samples = numpy.frombuffer(plane, kind)
    rows = samples[: plane.height * (plane.line_size // kind.itemsize)].reshape(plane.height, -1)
    luma = rows[:, : plane.width]
    # The frame stays as it is, so that it need not be copied.
    luma.flags.writeable = False
    return luma, first.bits


def video(
    file: str | os.PathLike[str],
    *,
    references: int = 1,
    direction: Literal["backward", "forward", "both"] = "backward",
    **settings: Unpack[Settings],
) -> Iterator[tuple[VideoFrame, Field]]:
    """Decodes a video and searches each frame in others: by default in the one before it. Needs PyAV: `motion-search[video]`.

    Args:
        file: the path of a video that FFmpeg decodes.
        references, direction: as in `fields`.
        **settings: see `Settings`; the video says what `bit_depth` is.

    Returns:
        An iterator of pairs: a frame of PyAV, which has `to_ndarray(format="rgb24")`, `pts` and `time`, and a field of it. The first frame
        of a video has no frame before it, and is left out. With several references a frame comes once for each of its fields.

    Raises:
        ImportError: without PyAV.
        ValueError: for a file without video; TypeError, ValueError and RuntimeError as in `fields`. PyAV raises what it raises.
    """
    try:
        import av
    except ImportError as error:
        raise ImportError('motion_search.video needs PyAV: pip install "motion-search[video]"') from error
    if "bit_depth" in settings:
        raise TypeError("bit_depth is what the video has: leave it out")
    # Wrong settings are told before the first frame.
    both = references_of(references, direction)
    native_settings(settings, *both)
    return _video(av.open(file), settings, both)


def _video(container: Any, settings: Mapping[str, Any], references: tuple[int, int]) -> Iterator[tuple[VideoFrame, Field]]:
    with container:
        if not container.streams.video:
            raise ValueError(f"{container.name} has no video")
        container.streams.video[0].thread_type = "AUTO"
        stream, kept = None, {}
        try:
            for number, frame in enumerate(container.decode(video=0)):
                luma, bits = luma_of(frame)
                if stream is None:
                    stream = _native.Stream(native_settings({**settings, "bit_depth": bits}, *references))
                kept[number] = frame
                stream.start(luma, f"frame {number}")
                while not stream.has_room() and (found := stream.finish()) is not None:
                    yield _with_frame(kept, found)
            while stream is not None and (found := stream.finish()) is not None:
                yield _with_frame(kept, found)
        finally:
            if stream is not None:
                stream.close()


def _with_frame(kept: dict[int, VideoFrame], found: dict[str, Any]) -> tuple[VideoFrame, Field]:
    """The frame of a field. Those that later fields cannot be of are dropped: they are at most four frames before it."""
    field = Field._of(found)
    for number in [number for number in kept if number < field.frame - 4]:
        del kept[number]
    return kept[field.frame], field
