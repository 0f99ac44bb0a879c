"""Slopes of the samples of each process, and which of them are too steep."""

from dataclasses import dataclass
from math import sqrt
from statistics import mean

MEGABYTE = 1 << 20
TEN_MINUTES = 600.0
# The first part of the life of a process, in which caches and pools fill.
WARM_UP_SHARE, WARM_UP_SECONDS_MIN = 0.2, 60.0
WINDOWS_MIN = 5
# Quantity, its unit, the limit in units per ten minutes, and the growth in units that is noise however steep it is.
QUANTITIES = [
    ("memory", MEGABYTE, 1.0, 1.0),
    ("descriptors", 1, 0.0, 1.0),
    ("threads", 1, 0.0, 1.0),
    ("provider_connections", 1, 0.0, 4.0),
]


@dataclass
class Slope:
    quantity: str
    first: float
    last: float
    per_ten_minutes: float
    # The standard error of the slope.
    error: float
    limit: float
    is_exceeded: bool


def windows(samples):
    """The samples up to the end of each lull, from the end of the one before."""
    found, current = [], []
    for taken, after in zip(samples, [*samples[1:], {"is_lull": False}]):
        current.append(taken)
        if taken["is_lull"] and not after["is_lull"]:
            found.append(current)
            current = []
    return found


def level(window, quantity):
    """The time and the value of a window. Of memory it is the lowest sample, as an allocator returns what is free only now and
    then; of connections to providers the mean, as a pool keeps in the lull what the load before it happened to need; of
    anything else the lowest sample in the lull, in which nothing is open."""
    if quantity == "provider_connections":
        return mean(it["at"] for it in window), mean(it[quantity] for it in window)
    candidates = window if quantity == "memory" else [it for it in window if it["is_lull"]]
    found = min(candidates, key=lambda it: it[quantity])
    return found["at"], found[quantity]


def fit(points):
    """The slope of a line by least squares, and its standard error."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    return slope, sqrt(rest / (len(points) - 2) / spread)


def slopes(generation):
    """The slopes of a process; None if it has not lived for long enough."""
    if not generation.samples:
        return None
    begin, end = generation.samples[0]["at"], generation.samples[-1]["at"]
    warm = begin + max(WARM_UP_SECONDS_MIN, WARM_UP_SHARE * (end - begin))
    judged = [window for window in windows(generation.samples) if window[0]["at"] >= warm]
    if len(judged) < WINDOWS_MIN:
        return None
    return [_slope(judged, *row) for row in QUANTITIES]


def _slope(judged, quantity, unit, limit, noise):
    """A slope is too steep if it is beyond the limit by more than twice its standard error."""
    points = [(at, value / unit) for at, value in (level(window, quantity) for window in judged)]
    slope, error = (it * TEN_MINUTES for it in fit(points))
    growth = slope / TEN_MINUTES * (points[-1][0] - points[0][0])
    is_exceeded = slope - 2 * error > limit and growth > noise
    return Slope(quantity, points[0][1], points[-1][1], slope, error, limit, is_exceeded)
