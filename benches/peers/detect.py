"""Detectors of motion beside each other: false alarms on scenes in which nothing moves, and objects whose boxes are known.

    /usr/bin/python3 benches/peers/detect.py [OPTION...]

Needs Debian's python3-numpy, python3-opencv and python3-av, for `motioncells` also python3-gi, gir1.2-gst-plugins-base-1.0 and
gstreamer1.0-opencv. The scenes are made of the pictures in ../shared.

A detector is any program that reads raw I420 frames from standard input and writes a line of JSON for each frame:

    {"frame": 0, "boxes": [{"id": 1, "x": 8, "y": 16, "width": 32, "height": 24}], "begin": [1], "end": []}

`--detector "NAME=COMMAND"` measures one more; {width}, {height} and {fps} in COMMAND are replaced.

What is measured, in frames from the third second of a scene on:

- alarms: runs of frames with boxes, in which gaps of up to a second do not count; and the share of frames with boxes;
- of objects that move and are at least half in the frame: the share of frames in which a box has an intersection over union of at
  least 0.5; the share in which a box touches the object, and is not many times as large (four times the object with 16 samples
  around it, at 640 x 360); the share of objects that are touched in any frame, and in one of the first six;
- false boxes: those that touch no place where an object was within the last second, with 16 samples around it;
- the processor's time (user and system) for a frame of 1080p. `none` is what reading the frames takes in Python.

Prints tables and writes detect_scenes.csv and detect_objects.csv. An interrupted run shows the scenes that it has done.
"""

import argparse
import contextlib
import datetime
import fnmatch
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading

import av
import cv2
import numpy

import detect_report as report
import selftest
from common import PeersError, progress
from detect_judge import LEARNING, judge
from detect_scenes import RATE, Pictures, all_scenes
from report import markdown

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = pathlib.Path(__file__).with_name("detect_peers.py")
# The settings that are tried of each peer. OpenCV's models see a frame of 360 lines.
SETTINGS = {
    "mog2": ("mog2", "lines=360"),
    "mog2 36": ("mog2", "lines=360 threshold=36"),
    "mog2 strict": ("mog2", "lines=360 threshold=64 open=2 least=0.001 last=3"),
    "knn": ("knn", "lines=360"),
    "knn strict": ("knn", "lines=360 threshold=1600 open=2 least=0.001 last=3"),
    "average": ("average", ""),
    "average strict": ("average", "threshold=40 least=30 last=3"),
    "motioncells": ("motioncells", ""),
    "motioncells 32": ("motioncells", "gridx=32 gridy=32 sensitivity=0.8 threshold=0.001"),
}
QUICK = ("mog2", "knn", "average", "motioncells 32")
# Only their time is measured: models of all samples, and reading the frames alone.
TIMED = {"mog2, all lines": ("mog2", ""), "knn, all lines": ("knn", ""), "none": ("none", "")}
# A scene is kept in a file for all detectors, if it is not larger.
LARGEST_FILE = 4 << 30
# What Linux allows everyone.
LARGEST_PIPE = 1 << 20
GREEN, YELLOW, RED = (0, 220, 0), (0, 220, 220), (0, 0, 230)


def peer_command(detector, settings):
    return f"{sys.executable} -B {shlex.quote(str(PEERS))} {detector} {{width}} {{height}} {{fps}} {settings}"


def started(command, size, source, **more):
    """Starts a command: a text with places for the size and rate, or its words."""
    words = command
    if isinstance(command, str):
        for name, value in (("width", size[0]), ("height", size[1]), ("fps", RATE)):
            command = command.replace("{" + name + "}", str(value))
        words = shlex.split(command)
    try:
        # A pipe that holds frames, so that a busy machine does not switch between the programs for parts of them.
        return subprocess.Popen(words, stdin=source, stdout=subprocess.PIPE, pipesize=LARGEST_PIPE, **more)
    except OSError as error:
        raise PeersError(f"cannot start {words[0]}: {error.strerror}") from error


@contextlib.contextmanager
def kept(scene):
    """A scene's frames, in a file if it is not too long."""
    if scene.count * scene.width * scene.height * 3 // 2 > LARGEST_FILE:
        yield None
        return
    with tempfile.TemporaryFile() as file:
        for frame in scene.frames():
            file.write(frame.data)
        file.flush()
        yield file


def detect(command, size, source, count):
    """The boxes of each frame, left, top, width, height and id; and the ids that begin in each frame. `source` is a file, or
    the frames."""
    with tempfile.TemporaryFile() as errors:
        is_file = hasattr(source, "fileno")
        if is_file:
            source.seek(0)
        process = started(command, size, source if is_file else subprocess.PIPE, stderr=errors)
        feeder = None if is_file else feed(process, source)
        boxes, begun, seen = [[] for _ in range(count)], [[] for _ in range(count)], 0
        for line in process.stdout:
            if not line.startswith(b"{"):
                continue
            try:
                said = json.loads(line)
                index = said["frame"]
                boxes[index] = [[box[key] for key in ("x", "y", "width", "height")] + [box.get("id", 0)] for box in said["boxes"]]
                begun[index] = said.get("begin", [])
            except (ValueError, KeyError, TypeError, IndexError) as error:
                process.kill()
                raise PeersError(f"not a line of the protocol ({error!r}): {line[:200].decode(errors='replace')}") from error
            seen += 1
        if feeder:
            feeder.join()
        if process.wait() != 0 or seen < count:
            errors.seek(0)
            last = errors.read().decode(errors="replace").strip().splitlines()[-3:]
            raise PeersError(f"{command}: ended with {process.returncode} after {seen} of {count} frames: {' / '.join(last)}")
        return boxes, begun


def feed(process, frames):
    """Writes the frames to a process, in a thread."""

    def write():
        # The reader of its lines reports a detector that ends early.
        with contextlib.suppress(BrokenPipeError):
            for frame in frames:
                process.stdin.write(frame.data)
            process.stdin.close()

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def draw(i420, truth, found):
    """The frame with what is there and what was found."""
    shown = cv2.cvtColor(i420, cv2.COLOR_YUV2BGR_I420)
    corner = lambda x, y: (round(x), round(y))
    for box in truth:
        color = GREEN if box.wanted else YELLOW
        cv2.rectangle(shown, corner(box.x, box.y), corner(box.x + box.width - 1, box.y + box.height - 1), color, 1)
    for x, y, width, height, _ in found:
        cv2.rectangle(shown, corner(x - 1, y - 1), corner(x + width, y + height), RED, 1)
    return shown


def write_picture(path, picture):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not cv2.imwrite(str(path), picture, [cv2.IMWRITE_JPEG_QUALITY, 85]):
        raise PeersError(f"cannot write {path}")


def file_name(text):
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in text)


def write_pictures(folder, scene, detector, result, boxes):
    """The middle one of the frames with hits, of those with misses, and of those with false boxes."""
    kinds = ("hit", result.hits), ("miss", result.misses), ("false", result.wrong)
    wanted = {of[len(of) // 2]: word for word, of in kinds if of}
    if not wanted:
        return
    for n, frame in enumerate(scene.frames()):
        if n in wanted:
            name = file_name(f"{scene.name}-{detector}-{wanted[n]}.jpg")
            write_picture(folder / name, draw(frame, scene.truth(n), boxes[n]))
        if n >= max(wanted):
            break


def milliseconds(detectors, pictures):
    """The processor's time of each detector for a frame of 1080p: of a run with many frames less one with few, so that the start
    does not count. The median of three."""
    size, few, many = (1920, 1080), 10, 130
    scene = next(s for s in all_scenes(pictures, 20, True, (size,)) if s.name.startswith("special: stops"))
    with tempfile.TemporaryDirectory() as folder:
        paths = {count: pathlib.Path(folder) / str(count) for count in (few, many)}
        with open(paths[few], "wb") as start, open(paths[many], "wb") as whole:
            for n, frame in zip(range(many), scene.frames()):
                whole.write(frame.data)
                if n < few:
                    start.write(frame.data)

        def spent(command, count):
            with open(paths[count], "rb") as raw:
                process = started(command, size, raw, stderr=subprocess.DEVNULL)
                process.stdout.read()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise PeersError(f"{command}: ended with {process.returncode}")
            return usage.ru_utime + usage.ru_stime

        found = {}
        for name, command in detectors.items():
            progress(f"time: {name}")
            passes = [spent(command, many) - spent(command, few) for _ in range(3)]
            found[name] = 1000 * statistics.median(passes) / (many - few)
        return found


def watch_video(path, detectors, folder, progress):
    """A real video without known boxes: how often each detector finds something, and pictures to look at."""
    try:
        with av.open(str(path)) as container:
            frames = [frame.to_ndarray(format="yuv420p") for frame in container.decode(video=0)]
    except (OSError, av.AVError, IndexError) as error:
        raise PeersError(f"cannot read a video from {path}: {error}") from error
    size = frames[0].shape[1], frames[0].shape[0] * 2 // 3
    rows = []
    for name, command in detectors.items():
        progress(f"{path.name}: {name}")
        boxes, begun = detect(command, size, frames, len(frames))
        counts = [len(found) for found in boxes[LEARNING:]]
        rows.append(
            [
                name,
                f"{100 * numpy.mean([count > 0 for count in counts]):.0f}",
                f"{numpy.mean(counts):.1f}",
                str(sum(map(len, begun)) or "–"),
            ]
        )
        if folder:
            for n in range(100, len(frames), max(len(frames) // 6, 1)):
                write_picture(folder / file_name(f"{path.stem}-{name}-{n}.jpg"), draw(frames[n], [], boxes[n]))
    progress("")
    print(f"\n{path.name}, {size[0]} x {size[1]}, {len(frames)} frames:\n")
    print(markdown(["detector", "frames with boxes, %", "boxes a frame", "objects begun"], rows))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--shared", type=pathlib.Path, default=ROOT.parent / "shared", metavar="FOLDER", help="with clips and flow"
    )
    parser.add_argument("--detector", action="append", default=[], metavar="NAME=COMMAND", help="one more, measured first")
    parser.add_argument("--peers", nargs="*", choices=(*SETTINGS, []), metavar="NAME", help=f"which of {', '.join(SETTINGS)}")
    parser.add_argument("--scenes", default="*", metavar="PATTERN", help="names of scenes, such as 'still: rain*'")
    parser.add_argument("--list", action="store_true", help="print the names of the scenes")
    parser.add_argument("--seconds", type=int, help="length of each still scene (default: 60; 3600 is an hour)")
    parser.add_argument("--size", nargs="+", default=["640x360"], metavar="WxH", help="sizes of the frames (default: 640x360)")
    parser.add_argument("--quick", action="store_true", help="fewer scenes and peers, 20 seconds each")
    parser.add_argument("--pictures", type=pathlib.Path, metavar="FOLDER", help="write hits, misses and false alarms as JPEG")
    parser.add_argument("--video", type=pathlib.Path, metavar="FILE", help="instead: a video, such as OpenCV's vtest.avi")
    parser.add_argument("--no-time", action="store_true", help="do not measure the processor's time")
    parser.add_argument(
        "--add", type=pathlib.Path, metavar="FOLDER", help="show the results of an earlier run (its --out) beside these"
    )
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out", metavar="FOLDER")
    options = parser.parse_args()
    options.seconds = options.seconds or (20 if options.quick else 60)
    try:
        options.sizes = [tuple(map(int, size.split("x"))) for size in options.size]
    except ValueError:
        parser.error("--size: such as 1280x720")
    if any(len(size) != 2 or size[0] % 4 or size[1] % 4 or min(size) < 144 for size in options.sizes):
        parser.error("--size: width and height must be multiples of 4 and at least 144, such as 1280x720")
    if options.seconds < 3:
        parser.error("--seconds: at least 3, because the first two do not count")
    if any("=" not in each for each in options.detector):
        parser.error("--detector: NAME=COMMAND, such as 'ours=detect {width} {height} {fps}'")
    return options


def main():
    options = parse_arguments()
    pictures = Pictures(options.shared)
    scenes = all_scenes(pictures, options.seconds, options.quick, options.sizes)
    scenes = [scene for scene in scenes if fnmatch.fnmatch(scene.name, options.scenes)]
    if options.list:
        return print("\n".join(f"{scene.name} ({scene.count} frames)" for scene in scenes))
    if not scenes:
        raise PeersError(f"no scene is called {options.scenes}: --list names them")
    names = (QUICK if options.quick else SETTINGS) if options.peers is None else options.peers
    detectors = dict(each.split("=", 1) for each in options.detector) | {name: peer_command(*SETTINGS[name]) for name in names}
    if not detectors:
        raise PeersError("nothing to measure: give --detector or --peers")
    if options.video:
        return watch_video(options.video, detectors, options.pictures, progress)
    progress("self-test")
    selftest.check_scenes()
    selftest.check_judgement()
    rows, objects = report.read(options.add) if options.add else ([], [])
    try:
        for at, scene in enumerate(scenes):
            progress(f"[{at + 1}/{len(scenes)}] {scene.name}")
            with kept(scene) as file:
                for name, command in detectors.items():
                    boxes, begun = detect(command, (scene.width, scene.height), file or scene.frames(), scene.count)
                    result = judge(scene, boxes, begun)
                    rows.append(report.scene_row(name, result))
                    objects.extend(report.object_rows(name, result))
                    if options.pictures:
                        write_pictures(options.pictures, scene, name, result, boxes)
    except KeyboardInterrupt:
        progress("")
        print("Interrupted: these are the scenes so far.")
    progress("")
    report.write(options.out, rows, objects)
    names = list(dict.fromkeys([*detectors, *(row["detector"] for row in rows)]))
    print(f"{datetime.date.today()}, OpenCV {cv2.__version__}; {len(scenes)} scenes, still ones of {options.seconds} s")
    if any(not row["objects"] for row in rows):
        print(f"\n{report.still_table(rows, names)}")
    if objects:
        print(f"\n{report.object_table(rows, objects, names)}")
    if not options.no_time:
        times = milliseconds(detectors | {name: peer_command(*each) for name, each in TIMED.items()}, pictures)
        progress("")
        line = ["ms a frame of 1080p, user + system", *(f"{time:.1f}" for time in times.values())]
        print(f"\n{markdown(['', *times], [line])}")
    print(f"\nWrote {options.out}/{report.SCENES} and {report.OBJECTS}")


if __name__ == "__main__":
    cv2.setNumThreads(1)
    # The pictures' decoder warns of an old name of its pixel format.
    av.logging.set_level(av.logging.ERROR)
    try:
        main()
    except PeersError as error:
        progress("")
        sys.exit(f"detect: {error}")
    except KeyboardInterrupt:
        sys.exit("\ndetect: interrupted")
