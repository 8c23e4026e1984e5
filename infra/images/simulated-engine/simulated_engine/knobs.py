"""What a simulated engine is told: `--simulated-…` arguments at its start, `POST /simulated` later."""
import re

UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
"""none; ignore: it keeps its old limit; revert: it writes its old limit back; missing: it takes its segment away."""
LIMIT_LIES = ("none", "ignore", "revert", "missing")


def to_bytes(value) -> int:
    """Whole bytes, or a number with a unit: 30Gi. Raises ValueError."""
    if isinstance(value, (int, float)):
        return int(value)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]i?)?B?", value)
    if found is None:
        raise ValueError(f"{value!r} is no number of bytes")
    return int(float(found[1]) * UNITS[found[2] or ""])


def to_flag(value) -> bool:
    return value in (True, 1, "", "1", "true", "yes")


def to_limit_lie(value) -> str:
    if value not in LIMIT_LIES:
        raise ValueError(f"{value!r}: one of {', '.join(LIMIT_LIES)}")
    return value


"""Name → (how it is read, when it is not given). Bytes are of each of its GPUs."""
KNOBS = {
    "footprint": (to_bytes, 2 * 2**30),
    "residue": (to_bytes, 64 * 2**20),
    "kv-bytes-per-request": (to_bytes, 128 * 2**20),
    "preallocated": (to_bytes, 0),
    "max-running": (int, 256),
    "start-seconds": (float, 1.0),
    "sleep-seconds": (float, 0.3),
    "wake-seconds": (float, 0.3),
    "tokens-per-second": (float, 50.0),
    "answer-tokens": (int, 16),
    "crash-after-seconds": (float, 0.0),
    "crash-at-start": (int, 0),
    "limit-lie": (to_limit_lie, "none"),
    # Its health check fails while it is set: given at the start it never succeeds.
    "unhealthy": (to_flag, False),
    # Opens /simulated, and nothing else of the developer's endpoints.
    "control": (to_flag, False),
    "metrics-fail": (to_flag, False),
    "sleep-leaves-too-much": (to_flag, False),
    "wake-hangs": (to_flag, False),
    "sleep-fails": (to_flag, False),
    # A pretended load, held until it is changed; {"running": 4} at run time.
    "running": (int, 0),
}


class Knobs:
    """`knobs["footprint"]`; a name that is none of them raises KeyError, a value that is none ValueError."""

    def __init__(self) -> None:
        self._values = {name: default for name, (_, default) in KNOBS.items()}

    def __getitem__(self, name: str):
        return self._values[name]

    def set(self, name: str, value) -> None:
        read, _ = KNOBS[name]
        self._values[name] = read(value)

    def take(self, environment) -> None:
        """`SIMULATED_START_SECONDS=3` as `--simulated-start-seconds 3`: for a command line that is not one's own."""
        for name in KNOBS:
            given = environment.get("SIMULATED_" + name.upper().replace("-", "_"))
            if given is not None:
                self.set(name, given)

    def as_json(self) -> dict:
        return {camel(name): value for name, value in self._values.items()}


def camel(name: str) -> str:
    first, *rest = name.split("-")
    return first + "".join(part.capitalize() for part in rest)


FROM_JSON = {camel(name): name for name in KNOBS}
