"""The frames that every contestant gets: a clip's luma, decoded before anything is measured."""

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


def decoded(path):
    """Yields the frames of a clip as PyAV decodes them."""
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise PeersError(f"{path} has no video")
            yield from container.decode(video=0)
    except (av.error.FFmpegError, OSError) as error:
        raise PeersError(f"{path} cannot be read: {error}") from error


def decode(path, skip, count):
    """Reads up to `count` consecutive frames after the first `skip` frames; with `skip` None, from the
    middle of the clip. Returns a `frames x height x width` array and the number of frames skipped.

    Raises `PeersError` if the clip cannot be read or has fewer than three such frames.
    """
    if skip is None:
        skip = max(0, (sum(1 for _ in decoded(path)) - count) // 2)
    frames = [luma(frame) for frame in itertools.islice(decoded(path), skip, skip + count)]
    if len(frames) < 3:
        raise PeersError(f"{path} has {len(frames)} frames after the first {skip}; three are needed")
    if len({frame.shape for frame in frames}) > 1:
        raise PeersError(f"{path} changes its frame size")
    return numpy.stack(frames), skip
