"""The workers of a cluster: which nodes there are, and what a worker takes of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: A custom resource for GPUs that Ray does not count: ``ray start --resources '{"motion_gpu": 1}'``.
OWN_GPU = "motion_gpu"


@dataclass(frozen=True)
class Worker:
    """A place for one search at a time on a node: cores, and a GPU or none."""

    name: str
    node: str
    cores: int
    gpu: str | None

    def resources(self) -> dict[str, Any]:
        """The resources of its tasks, as options of Ray."""
        options: dict[str, Any] = {"num_cpus": self.cores}
        if self.gpu == "GPU":
            options["num_gpus"] = 1
        elif self.gpu:
            options["resources"] = {self.gpu: 1}
        return options

    def properties(self, gpu_device: str) -> list[str]:
        """The properties of ``motionestimate`` by which it searches there."""
        return [f"device={gpu_device}"] if self.gpu else ["device=native", f"threads={self.cores}"]


def workers(node: Mapping[str, Any], cores: int, resource: str | None) -> list[Worker]:
    """The workers of one of ``ray.nodes()``: one for each GPU, with up to ``cores`` cores; one for each further ``cores``
    cores, and one for the rest of them. None where ``resource`` is asked for and missing."""
    has = node["Resources"]
    if not node["Alive"] or resource and not has.get(resource):
        return []
    identity, free = node["NodeID"], int(has.get("CPU", 0))
    name = f"{node.get('NodeName') or node['NodeManagerAddress']}-{identity[:4]}"
    gpus = ["GPU"] * int(has.get("GPU", 0)) + [OWN_GPU] * int(has.get(OWN_GPU, 0))
    found = []
    for index, gpu in enumerate(gpus):
        share = min(cores, free // (len(gpus) - index))
        found.append(Worker(f"{name}/gpu{index}", identity, share, gpu))
        free -= share
    while free > 0:
        share = min(cores, free)
        found.append(Worker(f"{name}/cpu{len(found) - len(gpus)}", identity, share, None))
        free -= share
    return found
