"""The program ``motion_ray``."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import signal
import sys
from importlib.metadata import version
from typing import Any

_EPILOG = """\
PROPERTY=VALUE sets a property of motionestimate, such as algorithm=hierarchical.

All nodes must see the videos and DIR under the same paths, and have motion-vectors. What is in DIR already is not
searched again: start the same command again after an interruption or a failure.

exit codes:
  0    all videos are done
  1    some have failed; they are named at the end
  2    wrong arguments, or motion-vectors, DIR or Ray cannot be used
  130  interrupted
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="motion_ray",
        description="Searches videos for motion vectors on all nodes of a Ray cluster. Writes DIR/VIDEO.bin for each: "
        "the file that motion-vectors writes on one machine, byte for byte.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("videos", metavar="VIDEO", nargs="+", help="videos, and properties as PROPERTY=VALUE")
    add("-o", "--out", metavar="DIR", required=True, help="where the vectors go")
    add("--address", help="a Ray cluster: auto for the one of this node, or HOST:PORT; default: only this machine")
    add("--zstd", action="store_true", help="pack with zstd")
    add("--cores", type=int, default=4, help="cores of a worker; default: %(default)s")
    add("--resource", metavar="NAME", help="use only nodes that have this custom resource")
    add("--gpu-device", metavar="DEVICE", default="gpu", help="device of workers with a GPU; default: %(default)s")
    add("--shortest", metavar="SECONDS", type=float, default=10.0, help="shortest range; default: %(default)s")
    add("--wait", metavar="SECONDS", type=float, default=60.0, help="wait for a node that long; default: %(default)s")
    add("--program", metavar="FILE", default="motion-vectors", help="motion-vectors on all nodes")
    add("--json", action="store_true", help="print a line of JSON for each video")
    add("-q", "--quiet", action="store_true", help="show no workers")
    add("-V", "--version", action="version", version=f"motion_ray {version('motion-ray')}")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the program and returns its exit code."""
    options = _parser().parse_intermixed_args(arguments)
    # Otherwise Ray reports its use to its makers, which is for the user to decide.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    logging.getLogger("ray").setLevel(logging.ERROR)
    from motion_ray.dashboard import Dashboard
    from motion_ray.driver import Options, connected, reason, search

    videos = [word for word in options.videos if "=" not in word or os.path.exists(word)]
    properties = [word for word in options.videos if word not in videos]
    if not videos:
        print("motion_ray: a video is missing", file=sys.stderr)
        return 2

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    names = ("zstd", "address", "program", "cores", "gpu_device", "resource", "shortest", "wait")
    try:
        chosen = Options(properties, **{name: getattr(options, name) for name in names})
        # Ray tells on standard output of nodes that are lost.
        with contextlib.redirect_stdout(sys.stderr), connected(chosen):
            # Ray has set its own.
            signal.signal(signal.SIGTERM, interrupt)
            results = search(videos, options.out, chosen, Dashboard(quiet=options.quiet))
    except KeyboardInterrupt:
        print("motion_ray: interrupted; start it again to go on", file=sys.stderr)
        return 130
    except (ValueError, OSError) as error:
        print(f"motion_ray: {reason(error)}", file=sys.stderr)
        return 2
    failed = [result for result in results if result.failures]
    for result in results:
        if options.json:
            record = {**result.__dict__, "video": str(result.video), "out": result.out and str(result.out)}
            print(json.dumps(record))
        elif result.out:
            print(f"{result.out}: {result.frames} frames{', there already' if result.kept else ''}")
    if failed:
        print(f"motion_ray: {len(failed)} of {len(results)} videos have failed:", file=sys.stderr)
    for result in failed:
        for failure in result.failures:
            print(f"motion_ray:   {result.video}: {failure}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
