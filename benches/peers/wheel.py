"""The Python package motion-search beside OpenCV's optical flow and motion-vector-extractor, as wheels of them are installed.

    python benches/peers/wheel.py [--flow FOLDER] [--frames VIDEO] [--seconds S]

Needs a virtual environment with the wheels motion-search, opencv-python-headless, motion-vector-extractor and av. Prints one table:

- the mean end-point error in samples on the pairs of frames in FOLDER whose motion is known, where it leads into the frame;
- milliseconds for a pair of 1080p frames of VIDEO, the median of as many passes as take S seconds: of the processor for one thread, so that
  other programs do not count, and of the clock for all threads; until there is a vector for each sample (`flow()` included), and in brackets
  until there are those of blocks;
- the time that `import` takes, the median of nine processes; and the sizes of the wheels as pip stores them.

motion-vector-extractor reads what the encoder of an H.264 stream has decided: its error is of streams that x264 makes of the pairs, and its
time is that of decoding the stream.
"""

import argparse
import importlib.metadata
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import av
import cv2
import motion_search as ms
import numpy
from mvextractor.videocap import VideoCap

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The values of OpenCV's own example.
FARNEBACK = (0.5, 3, 15, 3, 5, 1.2, 0)
PRESETS = {name: getattr(cv2, f"DISOpticalFlow_PRESET_{name.upper()}") for name in ("ultrafast", "fast", "medium")}


def pairs_in(folder):
    """Of each folder the two frames, the motion from the first to the second, and where it is known and leads into the frame."""
    for path in sorted(folder.rglob("*.flo")):
        frames = [cv2.imread(str(frame), cv2.IMREAD_GRAYSCALE) for frame in sorted(path.parent.glob("*.png"))]
        data = path.read_bytes()
        width, height = numpy.frombuffer(data, "<i4", 2, 4)
        motion = numpy.frombuffer(data, "<f4", offset=12).reshape(height, width, 2)
        y, x = numpy.indices((height, width))
        # Unknown motion has huge values.
        to_x, to_y = x + motion[..., 0], y + motion[..., 1]
        counts = (to_x >= 0) & (to_x <= width - 1) & (to_y >= 0) & (to_y <= height - 1) & (numpy.abs(motion) < 1e6).all(-1)
        yield path.parent.name, frames, motion, counts


def ours(quality, block_size):
    def vectors(current, reference, threads):
        return ms.search(current, reference, quality=quality, block_size=block_size, threads=threads, device="native")

    return vectors


def dis(name):
    made = cv2.DISOpticalFlow_create(PRESETS[name])

    def flow(current, reference, threads):
        cv2.setNumThreads(threads)
        return made.calc(current, reference, None)

    return flow


def farneback(current, reference, threads):
    cv2.setNumThreads(threads)
    return cv2.calcOpticalFlowFarneback(current, reference, None, *FARNEBACK)


METHODS = {
    **{
        f"ours, {quality}, {block_size} x {block_size}": ours(quality, block_size)
        for quality, block_size in (("fast", 8), ("balanced", 8), ("high", 8), ("balanced", 4))
    },
    **{f"OpenCV DIS {name}": dis(name) for name in PRESETS},
    "OpenCV Farneback": farneback,
}


def dense(found):
    """A vector a sample."""
    return found.flow() if isinstance(found, ms.Field) else found


def encode(path, frames):
    """An H.264 stream of the frames."""
    height, width = (side // 2 * 2 for side in frames[0].shape)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"preset": "medium", "crf": "18", "bf": "0", "g": "300"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for frame in frames:
            gray = numpy.ascontiguousarray(frame[:height, :width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(gray, format="gray").reformat(format="yuv420p")))
        container.mux(stream.encode(None))


def extracted(path):
    """The motion vectors of each frame of a stream."""
    capture, found = VideoCap(), []
    capture.open(str(path))
    while True:
        is_read, _, vectors, *_ = capture.read()
        if not is_read:
            capture.release()
            return found
        found.append(vectors)


def of_stream(frames, folder):
    """A vector a sample of the second frame in the first, as x264 has decided; none where it has not."""
    encode(folder / "pair.mp4", frames)
    flow = numpy.zeros((*frames[0].shape, 2), numpy.float32)
    for source, width, height, _, _, x, y, right, down, scale in extracted(folder / "pair.mp4")[-1]:
        if source < 0:
            left, top = int(x - width // 2), int(y - height // 2)
            # The vector of a block is what is added to its place in the reference frame.
            flow[max(top, 0) : top + int(height), max(left, 0) : left + int(width)] = numpy.array((right, down)) / scale
    return flow


def errors(flow_of, pairs):
    """The mean error over each pair."""
    found = []
    for _, (first, second), motion, counts in pairs:
        # The motion is from the first frame to the second: the first one is searched in the second.
        found.append(numpy.linalg.norm(flow_of(first, second) - motion, axis=-1)[counts].mean())
    return found


def milliseconds(work, seconds, clock=time.perf_counter):
    """The median of some passes."""
    work()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        began = clock()
        work()
        times.append(clock() - began)
    return 1000 * statistics.median(times)


def import_milliseconds(module, first="numpy"):
    """What `import` adds to that of `first`."""
    script = f"import {first}, time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(9)]
    return 1000 * statistics.median(float(run.stdout) for run in runs)


def installed_megabytes(package):
    """What the files of a package take, installed."""
    files = importlib.metadata.files(package) or []
    return sum(path.stat().st_size for file in files if (path := pathlib.Path(file.locate())).exists()) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flow", type=pathlib.Path, default=ROOT.parent / "shared/flow")
    parser.add_argument("--frames", type=pathlib.Path, default=ROOT.parent / "shared/clips/pan_solvay_1080p_40f.mkv")
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    pairs = list(pairs_in(options.flow))
    with av.open(str(options.frames)) as container:
        frames = [frame.to_ndarray(format="gray") for _, frame in zip(range(12), container.decode(video=0))]
    reference, current = frames[:2]
    every = os.cpu_count()
    print(f"{len(pairs)} pairs; {current.shape[1]} x {current.shape[0]} samples; load {os.getloadavg()[0]:.1f} of {every} cores\n")
    print(f"| | error | {' | '.join(name for name, *_ in pairs)} | ms, one core | ms, {every} threads |")
    print("|---|" + "--:|" * (len(pairs) + 3))

    def row(name, found, times):
        cells = [f"{numpy.mean(found):.3f}", *(f"{error:.3f}" for error in found), *times]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)

    for name, method in METHODS.items():
        times = []
        for threads, clock in ((1, time.process_time), (every, time.perf_counter)):
            whole = milliseconds(lambda: dense(method(current, reference, threads)), options.seconds, clock)
            text = f"{whole:.1f}"
            if name.startswith("ours"):
                text += f" ({milliseconds(lambda: method(current, reference, threads), options.seconds, clock):.1f})"
            times.append(text)
        row(name, errors(lambda first, second: dense(method(first, second, every)), pairs), times)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        found = errors(lambda first, second: of_stream((second, first), folder), pairs)
        encode(folder / "clip.mp4", frames)
        time_of_frame = milliseconds(lambda: extracted(folder / "clip.mp4"), options.seconds, time.process_time) / len(frames)
        row("motion-vector-extractor, x264's vectors", found, [f"{time_of_frame:.1f}", ""])

    print("\n| | import, ms | installed, MB |")
    print("|---|--:|--:|")
    for package, module in (
        ("motion-search", "motion_search"),
        ("opencv-python-headless", "cv2"),
        ("motion-vector-extractor", "mvextractor.videocap"),
    ):
        print(f"| {package} {importlib.metadata.version(package)} | {import_milliseconds(module):.0f} | {installed_megabytes(package):.1f} |")


if __name__ == "__main__":
    main()
