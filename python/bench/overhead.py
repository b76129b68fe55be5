"""What searching in ranges on two Ray nodes of one core costs, beside one process with two threads, in turn.

Usage: python bench/overhead.py VIDEO [--rounds 5] [--program FILE] [PROPERTY=VALUE...]
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

# Before Ray is imported: all on the loopback address.
os.environ.update(RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0", RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled")
os.environ["RAY_worker_niceness"] = "0"

import ray
from ray.cluster_utils import Cluster

from motion_ray import Options, search

# Takes down the processor time of each call.
WRAPPER = """#!/bin/sh
'{program}' "$@"
code=$?
times >>'{log}'
exit $code
"""


def measured(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("properties", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default="motion-vectors")
    options = parser.parse_intermixed_args()
    head = {"num_cpus": 0, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1")
    ray.init(address=cluster.address, log_to_driver=False)
    folder = Path(tempfile.mkdtemp())
    log, wrapper = folder / "times", folder / "motion-vectors"
    wrapper.write_text(WRAPPER.format(program=options.program, log=log))
    wrapper.chmod(0o755)

    def single(number: int) -> None:
        out = folder / f"{number}.bin"
        threads = ["device=native", "threads=2"]
        command = [options.program, str(options.video), "--out", str(out), "--quiet", *options.properties, *threads]
        subprocess.run(command, check=True)

    def on_ray(number: int) -> None:
        results = search([options.video], folder / str(number), Options(options.properties, program=str(wrapper)))
        if failures := results[0].failures:
            raise RuntimeError(str(failures))

    rows = []
    # The first round is not counted: processes start, files are read from the disk.
    for number in range(options.rounds + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        alone = measured(partial(single, number))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        alone_cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        log.write_text("")
        together = measured(partial(on_ray, number))
        # A line of the shell itself and one of its children for each call.
        words = [re.split("[ms ]+", line)[:4] for line in log.read_text().splitlines()[1::2]]
        cpu = sum(60 * float(m) + float(s) + 60 * float(n) + float(t) for m, s, n, t in words)
        joined = folder / str(number) / f"{options.video.name}.bin"
        assert joined.read_bytes() == (folder / f"{number}.bin").read_bytes()
        print(
            f"{alone:7.2f} s, {alone_cpu:7.2f} s of processor; Ray {together:7.2f} s, {cpu:7.2f} s; {len(words)} calls",
            flush=True,
        )
        if number:
            rows.append((together / alone, cpu / alone_cpu))
    for index, name in enumerate(("time", "processor time")):
        ratios = [row[index] for row in rows]
        print(f"{name}: {statistics.median(ratios):.3f} of one process, {min(ratios):.3f} to {max(ratios):.3f}")
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
