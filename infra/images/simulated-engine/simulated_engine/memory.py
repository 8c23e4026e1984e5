"""What one engine takes of its simulated GPUs, and its KV cache under kvcached's limit."""
import os
import socket
import sys
import uuid

from .gpu import Gpu, OutOfMemory, hold_life
from .segment import Segment


def out_of_memory(why: OutOfMemory) -> None:
    """As a CUDA failure ends an engine."""
    print(f"torch.OutOfMemoryError: CUDA out of memory (simulated): {why}", file=sys.stderr, flush=True)
    os._exit(1)


class Memory:
    """`limit`: the bytes of KV cache that this engine keeps to, on each of its GPUs."""

    def __init__(self, options) -> None:
        self._knobs = options.knobs
        self._gpus = [Gpu(gpu["id"], gpu["memoryBytes"]) for gpu in options.gpus]
        self._smallest = min(gpu["memoryBytes"] for gpu in options.gpus)
        self._key = uuid.uuid4().hex
        self._lives = [hold_life(gpu.id, self._key) for gpu in self._gpus]
        self.segment = None if options.segment is None else Segment(options.segment)
        self.limit = self._smallest
        self.kv_bytes = 0
        self.state = "starting"
        self._about = {"model": options.served_names[0], "segment": options.segment, "host": socket.gethostname()}

    def begin(self) -> None:
        """The limit that is there already is kept to; without one, the whole GPU is the limit. Then the weights are loaded."""
        if self.segment is not None:
            self.limit = self.segment.change(lambda found: (found[0] if found else self._smallest, 0, self._prealloc()), create=True)[0]
        self._register("start", full=True)
        if self._lie() == "missing" and self.segment is not None:
            self.segment.remove()

    def _prealloc(self) -> int:
        return self._knobs["preallocated"]

    def _lie(self) -> str:
        return self._knobs["limit-lie"]

    def _register(self, cause: str, full: bool) -> None:
        change = {
            **self._about,
            "state": self.state,
            "footprintBytes": self._knobs["footprint"] if full else self._left_asleep(),
            "fullFootprintBytes": self._knobs["footprint"],
            "residueBytes": self._left_asleep(),
            "kvBytes": self.kv_bytes,
            "limitBytes": self.limit,
            "ignoresLimit": self._lie() != "none",
        }
        try:
            for gpu in self._gpus:
                gpu.update(self._key, cause, change)
        except OutOfMemory as why:
            out_of_memory(why)

    def _left_asleep(self) -> int:
        if self._knobs["sleep-leaves-too-much"]:
            return self._knobs["footprint"] * 98 // 100
        return min(self._knobs["residue"], self._knobs["footprint"])

    def become(self, state: str, cause: str) -> None:
        self.state = state
        self._register(cause, full=state != "asleep")

    def renew(self, cause: str) -> None:
        """A knob has changed."""
        self._register(cause, full=self.state != "asleep")

    def see_limit(self) -> bool:
        """Reads the limit; true when it is another one than before, and obeyed. A segment that is gone limits as before."""
        if self.segment is None:
            return False
        found = self.segment.read()
        if found is None or found[0] == self.limit:
            return False
        if self._lie() == "revert":
            self.segment.change(lambda now: now and (self.limit, now[1], now[2]))
        if self._lie() != "none":
            for gpu in self._gpus:
                gpu.look("limit")
            return False
        self.limit = found[0]
        self._register("limit", full=self.state != "asleep")
        return True

    def try_map(self, wanted: int) -> bool:
        """Takes `wanted` bytes of KV cache in all, if the limit allows it; less than before is always given back."""
        if self.segment is not None and self._lie() == "none":
            if not self._map_in_segment(wanted):
                return False
        elif wanted > max(self.limit, self.kv_bytes):
            return False
        else:
            self._tell_use(wanted)
        if wanted != self.kv_bytes:
            self.kv_bytes = wanted
            self._register("map", full=self.state != "asleep")
        return True

    def _map_in_segment(self, wanted: int) -> bool:
        def decide(found):
            limit, _, preallocated = found or (self.limit, 0, self._prealloc())
            return None if wanted > max(limit, self.kv_bytes) else (limit, wanted, preallocated)

        if self.segment.read() is None:
            return wanted <= max(self.limit, self.kv_bytes)
        return self.segment.change(decide) is not None

    def _tell_use(self, wanted: int) -> None:
        if self.segment is not None:
            self.segment.change(lambda now: now and (now[0], wanted, now[2]))

    def account(self) -> dict:
        """Bytes by GPU, as measured; and what its weights take of the host while it sleeps."""
        taken = (self._left_asleep() if self.state == "asleep" else self._knobs["footprint"]) + self.kv_bytes
        host = self._knobs["footprint"] - self._left_asleep() if self.state == "asleep" else 0
        return {"gpus": {gpu.id: taken for gpu in self._gpus}, "hostBytes": host, "limitBytes": self.limit, "kvBytes": self.kv_bytes}

    def end(self) -> None:
        self._tell_use(0)
        for gpu in self._gpus:
            gpu.leave(self._key)
