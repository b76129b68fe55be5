"""Runs GStreamer elements over frames, for tests that compare: `elements.py IN.npz OUT.npz`, with a Python that has gi.

IN has `launch`, the elements with their properties; `caps` of the frames; and `frames`, of each its bytes. OUT has for each buffer that
left its bytes, as `frame NUMBER`, and for each of its fields the vectors, the offset, the predictors and the costs, as `field NUMBER`,
`offset NUMBER`, `predictors NUMBER` and `costs NUMBER`, in the order of buffers and fields.
"""

import sys

import gi
import numpy

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402, F401


def main(source, target):
    given = numpy.load(source)
    Gst.init(None)
    pipeline = Gst.parse_launch(f"appsrc name=source format=time caps={given['caps']} ! {given['launch']} ! appsink name=sink sync=false")
    feed, sink = pipeline.get_by_name("source"), pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    for number, frame in enumerate(given["frames"]):
        buffer = Gst.Buffer.new_wrapped(frame.tobytes())
        buffer.pts, buffer.duration = number * Gst.SECOND // 25, Gst.SECOND // 25
        feed.push_buffer(buffer)
    feed.end_of_stream()
    found = {}
    buffers = fields = 0
    while sample := sink.pull_sample():
        buffer = sample.get_buffer()
        read, mapped = buffer.map(Gst.MapFlags.READ)
        found[f"frame {buffers}"] = numpy.frombuffer(bytes(mapped.data), numpy.uint8)
        buffer.unmap(mapped)
        for field in fields_of(buffer):
            found[f"field {fields}"] = numpy.frombuffer(field.get_value("vectors").get_data(), numpy.uint8)
            found[f"offset {fields}"] = numpy.array(field.get_value("reference-offset"))
            for name in ("predictors", "costs"):
                if field.has_field(name):
                    found[f"{name} {fields}"] = numpy.frombuffer(field.get_value(name).get_data(), numpy.uint8)
            fields += 1
        buffers += 1
    message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    if message:
        sys.exit(str(message.parse_error()))
    pipeline.set_state(Gst.State.NULL)
    numpy.savez(target, **found)


def fields_of(buffer):
    """The structures of a buffer's fields."""
    # gi has no function that goes through metas of one name.
    metas = buffer.copy_region(Gst.BufferCopyFlags.META, 0, buffer.get_size())
    while (meta := metas.get_custom_meta("MotionVectorMeta")) is not None:
        yield meta.get_structure().copy()
        metas.remove_meta(meta.meta)


if __name__ == "__main__":
    main(*sys.argv[1:])
