"""Slopes of the samples of each process, fitted to its lulls, and which of them are too steep."""

from dataclasses import dataclass

MEGABYTE = 1 << 20
TEN_MINUTES = 600.0
# The first part of the life of a process, in which caches and pools fill.
WARM_UP_SHARE, WARM_UP_SECONDS_MIN = 0.2, 60.0
LULLS_MIN = 5
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
    growth: float
    limit: float
    is_exceeded: bool


def lull_minima(samples):
    """The time and the smallest values of each lull."""
    lulls, current = [], []
    for taken in [*samples, {"is_lull": False}]:
        if taken["is_lull"]:
            current.append(taken)
        elif current:
            lulls.append({name: min(it[name] for it in current) for name in ("at", *(row[0] for row in QUANTITIES))})
            current = []
    return lulls


def fit(points):
    """The slope of a line by least squares."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def slopes(generation):
    """The slopes of a process; None if it has not lived for long enough."""
    if not generation.samples:
        return None
    begin, end = generation.samples[0]["at"], generation.samples[-1]["at"]
    warm = begin + max(WARM_UP_SECONDS_MIN, WARM_UP_SHARE * (end - begin))
    lulls = [lull for lull in lull_minima(generation.samples) if lull["at"] >= warm]
    if len(lulls) < LULLS_MIN:
        return None
    span = lulls[-1]["at"] - lulls[0]["at"]
    found = []
    for quantity, unit, limit, noise in QUANTITIES:
        slope = fit([(lull["at"], lull[quantity] / unit) for lull in lulls])
        per_ten_minutes, growth = slope * TEN_MINUTES, slope * span
        exceeded = per_ten_minutes > limit and growth > noise
        first, last = lulls[0][quantity] / unit, lulls[-1][quantity] / unit
        found.append(Slope(quantity, first, last, per_ten_minutes, growth, limit, exceeded))
    return found
