"""Other detectors of motion, as programs: raw I420 frames come in on standard input, a line of JSON for each goes out.

    /usr/bin/python3 benches/peers/detect_peers.py DETECTOR WIDTH HEIGHT RATE [SETTING=NUMBER...]

DETECTOR: `mog2`, `knn` (OpenCV's models of the background, then opening, closing, contours and a least area), `average` (the
difference to a running average of a frame of 100 lines, as recorders do it), `motioncells` (GStreamer's, of Debian's package
gstreamer1.0-opencv; its cells are joined to boxes), `none` (reads the frames and finds nothing: what the pipe costs).

Needs numpy, OpenCV, and for `motioncells` the bindings of GStreamer: `scripts/deps peers`.
"""

import json
import sys

import cv2
import numpy

from common import PeersError


def frames(width, height):
    """Luma and the whole frame, one after the other, from standard input."""
    size = width * height * 3 // 2
    while len(data := sys.stdin.buffer.read(size)) == size:
        whole = numpy.frombuffer(data, numpy.uint8)
        yield whole[: width * height].reshape(height, width), whole


def say(index, boxes):
    """Writes the line of a frame. `boxes` are left, top, width and height."""
    named = [dict(zip(("id", "x", "y", "width", "height"), (at, *map(float, box)))) for at, box in enumerate(boxes)]
    sys.stdout.write(json.dumps({"frame": index, "boxes": named, "begin": [], "end": []}) + "\n")


def boxes_of(mask, least, scale):
    """The boxes of the areas of a mask of at least that many samples, in samples of the whole frame."""
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    return [numpy.array(cv2.boundingRect(each)) * scale for each in contours if cv2.contourArea(each) >= least]


def shrunk(luma, lines):
    """The frame with so many lines, or itself if it has no more, and its scale."""
    scale = luma.shape[0] / lines if lines and lines < luma.shape[0] else 1
    if scale == 1:
        return luma, 1
    return cv2.resize(luma, (round(luma.shape[1] / scale), round(lines)), interpolation=cv2.INTER_AREA), scale


def background(model, settings):
    """The samples that do not fit the model; shadows, which it marks with another value, do not count."""
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))

    def detect(luma):
        small, scale = shrunk(luma, settings["lines"])
        _, mask = cv2.threshold(model.apply(small), 200, 255, cv2.THRESH_BINARY)
        if settings["open"]:
            mask = cv2.morphologyEx(mask, cv2.MORPH_OPEN, kernel, iterations=int(settings["open"]))
        mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, kernel, iterations=int(settings["close"]))
        return boxes_of(mask, settings["least"] * mask.size, scale)

    return detect


def mog2(settings):
    return background(cv2.createBackgroundSubtractorMOG2(int(settings["history"]), settings["threshold"], True), settings)


def knn(settings):
    return background(cv2.createBackgroundSubtractorKNN(int(settings["history"]), settings["threshold"], True), settings)


def average(settings):
    """What moves differs from the running average. Where more than a part of the frame does, the light has changed: the average
    begins anew, and nothing is said until it has seen some frames."""
    kept, seen = None, 0

    def detect(luma):
        nonlocal kept, seen
        small, scale = shrunk(luma, settings["lines"])
        small = cv2.GaussianBlur(small, (0, 0), 1).astype(numpy.float32)
        if kept is None:
            kept, seen = small, 0
        difference, seen = cv2.absdiff(small, kept), seen + 1
        mask = cv2.dilate((difference > settings["threshold"]).astype(numpy.uint8), None, iterations=2)
        if mask.mean() > settings["light"]:
            kept, seen = None, 0
            return []
        kept = cv2.accumulateWeighted(small, kept.copy(), settings["rate"] if seen > 30 else 0.2)
        return boxes_of(mask, settings["least"], scale) if seen > 30 else []

    return detect


DETECTORS = {
    "mog2": (mog2, {"history": 500, "threshold": 16, "lines": 0, "open": 1, "close": 2, "least": 0.0002, "last": 1}),
    "knn": (knn, {"history": 500, "threshold": 400, "lines": 0, "open": 1, "close": 2, "least": 0.0002, "last": 1}),
    "average": (average, {"lines": 100, "threshold": 30, "rate": 0.01, "least": 10, "light": 0.8, "last": 1}),
    "none": (lambda settings: lambda luma: [], {"last": 1}),
}
CELLS = {"gridx": 10, "gridy": 10, "sensitivity": 0.5, "threshold": 0.01, "last": 1}
# The element looks at each fifth frame; what it says of one holds until the next.
CELLS_EACH = 5


def run(detector, width, height, settings):
    """`last` is the number of frames with something in it before it is said."""
    make, defaults = DETECTORS[detector]
    settings = defaults | settings
    cv2.setNumThreads(1)
    detect, since = make(settings), 0
    for index, (luma, _) in enumerate(frames(width, height)):
        boxes = detect(luma)
        since = since + 1 if boxes else 0
        say(index, boxes if since >= settings["last"] else [])


def motioncells(width, height, rate, settings):
    """The element posts a message for each frame in which cells moved."""
    import gi

    gi.require_version("Gst", "1.0")
    from gi.repository import Gst

    Gst.init(None)
    settings = CELLS | settings
    columns, rows = int(settings["gridx"]), int(settings["gridy"])
    if Gst.ElementFactory.find("motioncells") is None:
        raise PeersError("there is no element motioncells: install gstreamer1.0-opencv")
    pipeline = Gst.parse_launch(
        f"appsrc name=source format=time block=true max-bytes={4 * width * height} "
        f"caps=video/x-raw,format=I420,width={width},height={height},framerate={rate}/1 ! videoconvert n-threads=1 ! "
        f"motioncells display=false postallmotion=true gap=1 gridx={columns} gridy={rows} "
        f"sensitivity={settings['sensitivity']} threshold={settings['threshold']} ! appsink name=sink sync=false max-buffers=1"
    )
    source, sink, bus = pipeline.get_by_name("source"), pipeline.get_by_name("sink"), pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    since, mask, old = 0, None, CELLS_EACH
    for index, (_, whole) in enumerate(frames(width, height)):
        buffer = Gst.Buffer.new_wrapped(padded(whole, width, height))
        buffer.pts, buffer.duration = index * Gst.SECOND // rate, Gst.SECOND // rate
        source.emit("push-buffer", buffer)
        # What the frame is said to hold has been posted before the frame leaves the element.
        if sink.emit("pull-sample") is None:
            break
        old += 1
        if old >= CELLS_EACH:
            mask = numpy.zeros((rows, columns), numpy.uint8)
        while message := bus.pop_filtered(Gst.MessageType.ELEMENT):
            cells = message.get_structure().get_string("motion_cells_indices")
            for cell in filter(None, (cells or "").split(",")):
                row, column = map(int, cell.split(":"))
                mask[row, column], old = 1, 0
        since = since + 1 if mask.any() else 0
        say(index, cell_boxes(mask, width, height) if since >= settings["last"] else [])
    if error := bus.pop_filtered(Gst.MessageType.ERROR):
        raise PeersError(f"motioncells: {error.parse_error()[0].message}")
    pipeline.set_state(Gst.State.NULL)


def padded(whole, width, height):
    """The planes with rows of a multiple of four bytes, as GStreamer wants them."""
    if width % 8 == 0:
        return whole.tobytes()
    luma, half = width * height, (width // 2, height // 2)
    planes = [whole[:luma].reshape(height, width), *whole[luma:].reshape(2, half[1], half[0])]
    return b"".join(numpy.pad(plane, ((0, 0), (0, -plane.shape[1] % 4))).tobytes() for plane in planes)


def cell_boxes(mask, width, height):
    """The boxes of cells that touch."""
    count, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    scale = numpy.array([width / mask.shape[1], height / mask.shape[0]] * 2)
    return [stats[index, :4] * scale for index in range(1, count)]


def main():
    arguments = sys.argv[1:]
    if len(arguments) < 4 or arguments[0] not in (*DETECTORS, "motioncells"):
        sys.exit(__doc__)
    detector = arguments[0]
    try:
        width, height, rate = map(int, arguments[1:4])
        settings = {name: float(value) for name, value in (each.split("=", 1) for each in arguments[4:])}
    except ValueError as error:
        raise PeersError(f"not numbers: {' '.join(arguments[1:])}: such as 640 360 25 threshold=16") from error
    known = CELLS if detector == "motioncells" else DETECTORS[detector][1]
    if unknown := set(settings) - set(known):
        raise PeersError(f"{detector} has no setting {', '.join(sorted(unknown))}: it has {', '.join(known)}")
    if detector == "motioncells":
        motioncells(width, height, rate, settings)
    else:
        run(detector, width, height, settings)


if __name__ == "__main__":
    try:
        main()
    except PeersError as error:
        sys.exit(f"detect_peers: {error}")
