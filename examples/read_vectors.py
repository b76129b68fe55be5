#!/usr/bin/env python3
"""Reads motion vectors from an appsink with gi and numpy.

    read_vectors.py [PIPELINE]

PIPELINE is a gst-launch description of everything before the appsink and must contain
`motionestimate`. Prints one line per field. What goes wrong is told, with exit status 1. Needs python3-gi,
python3-numpy and gir1.2-gst-plugins-base-1.0.
"""

import sys

try:
    import gi
    import numpy

    gi.require_version("Gst", "1.0")
    gi.require_version("GstApp", "1.0")
    from gi.repository import GLib, Gst, GstApp  # noqa: F401 (GstApp gives appsink its methods)
except (ImportError, ValueError) as error:
    sys.exit(f"{error}: install python3-gi, python3-numpy and gir1.2-gst-plugins-base-1.0")

RECORD = [("x", "i2"), ("y", "i2"), ("cost", "u4")]
DEFAULT = "videotestsrc num-buffers=30 pattern=ball ! video/x-raw,width=320,height=240 ! motionestimate"


def read_fields(buffer):
    """The motion fields of a buffer, each as a `rows x columns` array of records and the meta's structure.

    There are several if the frame was searched in several frames (the structure's `reference-offset` tells in which),
    and none for example in the first frame of a stream. A field whose `width` and `height` are not those of the caps
    belongs to a frame that was changed since: leave it out.
    """
    # gi has no function that goes through metas of one name: each is removed from a copy, which has no samples.
    metas = buffer.copy_region(Gst.BufferCopyFlags.META, 0, buffer.get_size())
    fields = []
    while (meta := metas.get_custom_meta("MotionVectorMeta")) is not None:
        structure = meta.get_structure().copy()
        shape = structure.get_value("rows"), structure.get_value("columns")
        data = structure.get_value("vectors").get_data()
        fields.append((numpy.frombuffer(data, RECORD).reshape(shape), structure))
        metas.remove_meta(meta.meta)
    return fields


def read_costs(structure):
    """The further costs of each block by name, `rows x columns` each, of a meta's structure; empty if it has none."""
    if not structure.has_field("costs"):
        return {}
    array = structure.get_array("cost-names")[1]
    names = [array.get_nth(index) for index in range(array.n_values)]
    shape = structure.get_value("rows"), structure.get_value("columns"), len(names)
    costs = numpy.frombuffer(structure.get_value("costs").get_data(), "u4").reshape(shape)
    return {name: costs[:, :, index] for index, name in enumerate(names)}


def read_samples(description):
    """The samples, buffers with their caps, that a gst-launch description of a pipeline without its sink gives, until its end.

    Ends the program with a message if the pipeline cannot be made, or fails.
    """
    Gst.init(None)
    try:
        pipeline = Gst.parse_launch(f"{description} ! appsink name=sink sync=false")
    except GLib.Error as error:
        sys.exit(f"the pipeline cannot be made: {error.message}")
    sink, bus = pipeline.get_by_name("sink"), pipeline.get_bus()
    started = pipeline.set_state(Gst.State.PLAYING)
    try:
        # A pipeline that fails before its first buffer never ends: its messages tell.
        while (message := bus.pop_filtered(Gst.MessageType.ERROR)) is None:
            sample = sink.try_pull_sample(100 * Gst.MSECOND)
            if sample is not None:
                yield sample
            elif sink.is_eos():
                message = bus.pop_filtered(Gst.MessageType.ERROR)
                break
    finally:
        pipeline.set_state(Gst.State.NULL)
    if message is not None:
        error, debug = message.parse_error()
        sys.exit(f"{message.src.get_name()}: {error.message}\n{debug or ''}".strip())
    if started == Gst.StateChangeReturn.FAILURE:
        sys.exit("the pipeline does not start")


def read_buffers(description):
    """The buffers of `read_samples`."""
    for sample in read_samples(description):
        yield sample.get_buffer()


def description_of_arguments(default, doc):
    """The pipeline in the arguments of a program, or `default`. Prints `doc` if they ask for help."""
    if sys.argv[1:2] in (["--help"], ["-h"]):
        print(doc.strip())
        sys.exit()
    return " ".join(sys.argv[1:]) or default


def main():
    for buffer in read_buffers(description_of_arguments(DEFAULT, __doc__)):
        fields = read_fields(buffer)
        if not fields:
            print(f"{buffer.pts} no vectors")
        for field, structure in fields:
            length = numpy.hypot(field["x"].astype(float), field["y"]) / structure.get_value("scale")
            print(
                f"{buffer.pts} {field.shape[1]} x {field.shape[0]} blocks, "
                f"reference {structure.get_value('reference-offset'):+}, "
                f"length mean {length.mean():.2f} max {length.max():.2f} samples, "
                f"mean {structure.get_value('metric')} {field['cost'].mean():.1f}"
                # Costs are of samples of eight bits, or of as many as the field says.
                + (f" of {structure.get_value('bit-depth')} bits" if structure.has_field("bit-depth") else "")
                + "".join(f", {name} {costs.mean():.1f}" for name, costs in read_costs(structure).items())
            )


if __name__ == "__main__":
    main()
