"""The frames that everybody gets: the luma of a clip's frames, decoded beforehand."""

import itertools

import av
import numpy

from common import PeersError

# Formats whose first plane is 8-bit luma; others are converted.
LUMA_FIRST = ("gray", "yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "nv12", "nv21")


def luma(frame):
    """The luma plane as a `height x width` array."""
    if frame.format.name not in LUMA_FIRST:
        frame = frame.reformat(format="yuv420p")
    plane = frame.planes[0]
    samples = numpy.frombuffer(plane, numpy.uint8).reshape(-1, plane.line_size)
    return samples[: frame.height, : frame.width].copy()


def frames(path):
    """The decoded frames of a clip."""
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise PeersError(f"{path} has no video")
            yield from container.decode(video=0)
    except (av.error.FFmpegError, OSError) as error:
        raise PeersError(f"{path} cannot be read: {error}") from error


def decode(path, skip, count):
    """`count` consecutive frames of the clip after the first `skip`, or around its middle where that is
    None; or as many as there are. A `frames x height x width` array, and how many came before it.

    Raises `PeersError` where the clip cannot be read or has fewer than three such frames.
    """
    if skip is None:
        skip = max(0, (sum(1 for _ in frames(path)) - count) // 2)
    frames = [luma(frame) for frame in itertools.islice(frames(path), skip, skip + count)]
    if len(frames) < 3:
        raise PeersError(f"{path} has {len(frames)} frames after the first {skip}: three are needed")
    if len({frame.shape for frame in frames}) > 1:
        raise PeersError(f"{path} changes its size")
    return numpy.stack(frames), skip
