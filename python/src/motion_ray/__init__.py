"""Searches videos for motion vectors on a Ray cluster.

The program ``motion-vectors`` searches; this package plans ranges, gives them to workers and joins what they wrote.
"""

from motion_ray.driver import Options, VideoResult, search

__all__ = ["Options", "VideoResult", "search"]
