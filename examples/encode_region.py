#!/usr/bin/env python3
"""Encodes a video with better quality in one region, by region-of-interest metadata.

    encode_region.py IN OUT.mp4 X Y WIDTH HEIGHT [DELTA_QP]

The region is X Y WIDTH HEIGHT in samples of the frame. DELTA_QP is added to the quantiser of its macroblocks: -6, the
default, halves the quantiser's step. A detector of faces would give other regions for each frame: replace `regions`.
Needs motionx264enc, and what read_vectors.py needs.
"""

import sys

from read_vectors import GLib, Gst, read_samples

import gi

gi.require_version("GstVideo", "1.0")
from gi.repository import GstVideo  # noqa: E402

SOURCE = (
    'filesrc location="{}" ! decodebin ! videoconvert ! video/x-raw,format=I420'
    " ! motionestimate sub-sample=quarter costs=zero+intra+satd"
)
SINK = (
    "appsrc name=source format=time block=true ! motionx264enc tune=zerolatency speed-preset=veryfast bitrate=800"
    ' ! h264parse ! mp4mux ! filesink location="{}"'
)


def regions(number, arguments):
    """The regions of frame `number` as (x, y, width, height, delta-qp)."""
    return [arguments]


def mark(buffer, regions):
    """A copy of `buffer` with these regions. Its samples are shared, and not copied."""
    parts = Gst.BufferCopyFlags
    marked = buffer.copy_region(parts.FLAGS | parts.TIMESTAMPS | parts.META | parts.MEMORY, 0, buffer.get_size())
    for x, y, width, height, delta_qp in regions:
        meta = GstVideo.buffer_add_video_region_of_interest_meta(marked, "region", x, y, width, height)
        meta.add_param(Gst.Structure.new_from_string(f"roi/x264enc, delta-qp=(int){delta_qp}"))
    return marked


def fail(message):
    error, debug = message.parse_error()
    sys.exit(f"{message.src.get_name()}: {error.message}\n{debug or ''}".strip())


def main():
    if len(sys.argv) not in (7, 8) or sys.argv[1] in ("--help", "-h"):
        sys.exit(__doc__.strip())
    arguments = tuple(map(int, sys.argv[3:7])) + (int(sys.argv[7]) if len(sys.argv) == 8 else -6,)
    Gst.init(None)
    try:
        writing = Gst.parse_launch(SINK.format(sys.argv[2]))
    except GLib.Error as error:
        sys.exit(f"the pipeline cannot be made: {error.message}")
    source, bus = writing.get_by_name("source"), writing.get_bus()
    if writing.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
        fail(bus.pop_filtered(Gst.MessageType.ERROR))
    count = 0
    for sample in read_samples(SOURCE.format(sys.argv[1])):
        source.set_property("caps", sample.get_caps())
        if source.emit("push-buffer", mark(sample.get_buffer(), regions(count, arguments))) != Gst.FlowReturn.OK:
            break
        count += 1
    source.emit("end-of-stream")
    ended = bus.timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.ERROR | Gst.MessageType.EOS)
    writing.set_state(Gst.State.NULL)
    if ended.type == Gst.MessageType.ERROR:
        fail(ended)
    print(f"{count} frames, region {arguments[:4]} with delta-qp {arguments[4]:+}")


if __name__ == "__main__":
    main()
