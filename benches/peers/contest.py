"""The contestants. Each is measured in a process of its own."""

import concurrent.futures
import importlib
import multiprocessing
import os
from dataclasses import dataclass, field

import numpy

from common import NotHere, PeersError

ONE, ALL, GPU = "one core", "all cores", "GPU"


@dataclass(frozen=True)
class Contestant:
    """A program and method that finds vectors, and where it runs."""

    # The module that measures it.
    module: str
    maker: str
    method: str
    where: str
    # Arguments of its module's `measure` besides frames, block size and least time.
    arguments: dict = field(hash=False)
    # How many frames it needs after the last frame that is searched.
    ahead: int = 0

    def __str__(self):
        return f"{self.maker} {self.method}, {self.where}"


def cpus():
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def settle(where):
    """Binds this process to its cores. Must be called before any thread is started."""
    if where == ONE:
        os.sched_setaffinity(0, cpus()[-1:])
        os.environ["RAYON_NUM_THREADS"] = "1"


def in_process(function, *arguments):
    """Calls `function` in a new process, so that its threads and CPU affinity end with it."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            return pool.submit(function, *arguments).result()
        except concurrent.futures.process.BrokenProcessPool as error:
            raise PeersError("the measuring process died") from error


def our_kernels():
    """Our kernels to measure on the CPU without OpenCL: `exhaustive` and `auto`, if this build has
    them."""
    import ours

    return [name for name in ("exhaustive", "auto") if name in ours.kernels()]


def contestants(block_size, search_range, kernels, with_opencv):
    """All contestants, in the order of the table."""
    common = {"block-size": block_size, "search-range": search_range}
    wheres = [ONE, ALL] if len(cpus()) > 1 else [ONE]
    entrants = []
    for where in wheres:
        for kernel in kernels:
            settings = {"device": "native", "kernel": kernel, **common}
            entrants.append(Contestant("ours", "ours", kernel, where, {"settings": settings}))
    entrants.append(Contestant("ours", "ours", "auto", GPU, {"settings": {"device": "gpu", **common}}))

    import ffmpeg

    for method in ffmpeg.METHODS:
        arguments = {"method": method, "search_range": search_range}
        entrants.append(Contestant("ffmpeg", "FFmpeg", method, ONE, arguments, ahead=1))
    if with_opencv:
        import opencv

        for where in wheres:
            for method in opencv.METHODS:
                arguments = {"method": method, "threads": 1 if where == ONE else len(cpus())}
                entrants.append(Contestant("opencv", "OpenCV", method, where, arguments))
    return entrants


def run(contestant, path, block_size, least_seconds):
    """Measures `contestant` on the frames in the file `path`, in this process."""
    settle(contestant.where)
    module = importlib.import_module(contestant.module)
    # The last frame of the file is for contestants that look ahead.
    frames = numpy.load(path)
    frames = frames if contestant.ahead else frames[:-1]
    return module.measure(
        frames, block_size=block_size, least_seconds=least_seconds, **contestant.arguments
    )


def measure(contestant, path, block_size, least_seconds):
    """`run` in a process of its own; None if its device or library is missing on this machine."""
    try:
        return in_process(run, contestant, path, block_size, least_seconds)
    except NotHere:
        return None
    except PeersError as error:
        raise PeersError(f"{contestant}: {error}") from error
