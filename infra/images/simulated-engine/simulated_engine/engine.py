"""A pretended engine: who runs, who waits, sleep and wake. No model: it counts bytes and seconds."""
import asyncio
import os
import sys
import time
from collections import deque
from contextlib import asynccontextmanager

from .memory import Memory
from .watch import Watch

# A write to the segment is told at once; this is for what is not told (a file that was replaced).
LOOK_SECONDS = 0.5


class Refused(Exception):
    """Sleep or wake that fails, as the engine's own error."""


class Turn:
    """One request's place: it waits, runs, or is aborted by a sleep or an end."""

    def __init__(self) -> None:
        self.admitted = asyncio.get_running_loop().create_future()
        self.is_running = False
        self._aborted = asyncio.Event()

    @property
    def is_aborted(self) -> bool:
        return self._aborted.is_set()

    def abort(self) -> None:
        self._aborted.set()
        if not self.admitted.done():
            self.admitted.set_result(None)

    async def rest(self, seconds: float) -> None:
        """For so long, or until it is aborted."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        try:
            await asyncio.wait_for(self._aborted.wait(), seconds)
        except TimeoutError:
            pass


class Engine:
    def __init__(self, options) -> None:
        self.created = int(time.time())
        self.knobs = options.knobs
        self.memory = Memory(options)
        self._running: set[Turn] = set()
        self.succeeded: dict[str, int] = {}
        self.prompt_tokens = 0
        self.generation_tokens = 0
        self._pretended = 0
        self._waiting: deque[Turn] = deque()
        self._moving = asyncio.Lock()

    async def load(self) -> None:
        """Takes its memory, then loads for `start-seconds`."""
        crash_if_told(self.knobs, self.memory.segment)
        self.memory.begin()
        await asyncio.sleep(self.knobs["start-seconds"])
        self.memory.become("awake", "ready")
        self._watch = Watch(self.look)
        if self.memory.segment is not None:
            self._watch.follow(self.memory.segment.path)
        self.settle()
        if self.knobs["crash-after-seconds"] > 0:
            asyncio.get_running_loop().call_later(self.knobs["crash-after-seconds"], crash)

    async def keep_looking(self) -> None:
        inode = None
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self.memory.segment is None:
                continue
            now = inode_of(self.memory.segment.path)
            if now != inode and now is not None:
                self._watch.follow(self.memory.segment.path)
            inode = now
            self.look()

    def look(self) -> None:
        if self.memory.see_limit():
            self.settle()

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def waiting(self) -> int:
        return len(self._waiting) + max(0, self.knobs["running"] - self._pretended)

    @property
    def running_all(self) -> int:
        return self.running + self._pretended

    def settle(self) -> None:
        """Lets in who can run: first the pretended load, then requests in the order of their coming."""
        wanted = self.knobs["running"] if self.memory.state == "awake" else 0
        if self._pretended > wanted:
            self._pretended = wanted
            self._map(self.running_all)
        if self.memory.state != "awake":
            return
        while self._pretended < wanted and self._map(self.running_all + 1):
            self._pretended += 1
        while self._waiting and self._map(self.running_all + 1):
            turn = self._waiting.popleft()
            self._running.add(turn)
            if not turn.admitted.done():
                turn.admitted.set_result(None)

    def _map(self, count: int) -> bool:
        if count > self.running_all and count > self.knobs["max-running"]:
            return False
        return self.memory.try_map(count * self.knobs["kv-bytes-per-request"])

    @asynccontextmanager
    async def turn(self):
        """Waits until it may run, or is aborted; its KV cache is given back at the end, however it ends."""
        turn = Turn()
        self._waiting.append(turn)
        self.settle()
        try:
            await turn.admitted
            yield turn
        finally:
            self._leave(turn)

    def _leave(self, turn: Turn) -> None:
        if turn in self._running:
            self._running.remove(turn)
            self._map(self.running_all)
        elif turn in self._waiting:
            self._waiting.remove(turn)
        self.settle()

    def _abort_all(self) -> None:
        for turn in [*self._running, *self._waiting]:
            turn.abort()

    @property
    def waiting_told(self) -> int:
        """As its metrics say it: a sleeper counts nobody, as the real one, though who asks it waits for the wake."""
        return self.waiting if self.memory.state in ("awake", "starting") else 0

    def count(self, reason: str, prompt_tokens: int, generation_tokens: int) -> None:
        self.succeeded[reason] = self.succeeded.get(reason, 0) + 1
        self.prompt_tokens += prompt_tokens
        self.generation_tokens += generation_tokens

    async def sleep(self, mode: str) -> None:
        """Asleep already is done. `abort` ends what runs and waits, `wait` lets it end; what comes later waits for the wake."""
        if mode not in ("abort", "wait"):
            raise Refused(f"mode {mode} is not simulated")
        async with self._moving:
            if self.memory.state == "asleep":
                return
            if self.knobs["sleep-fails"]:
                raise Refused("sleep failed (simulated)")
            self.memory.become("falling-asleep", "sleep-begins")
            if mode == "abort":
                self._abort_all()
            self.settle()
            while self.running > 0:
                await asyncio.sleep(0.02)
            await asyncio.sleep(self.knobs["sleep-seconds"])
            self.memory.become("asleep", "sleep")

    async def wake(self) -> None:
        """Awake already is done. The memory is taken before the time it takes passes."""
        async with self._moving:
            if self.memory.state == "awake":
                return
            while self.knobs["wake-hangs"]:
                await asyncio.sleep(0.2)
            self.memory.become("waking", "wake-begins")
            await asyncio.sleep(self.knobs["wake-seconds"])
            self.memory.become("awake", "wake")
            self.settle()

    def tell(self, changes: dict) -> None:
        """Knobs at run time: name → value."""
        for name, value in changes.items():
            self.knobs.set(name, value)
        if self.knobs["limit-lie"] == "missing" and self.memory.segment is not None:
            self.memory.segment.remove()
        self.memory.renew("told")
        self.look()
        self.settle()

    async def drain(self, seconds: float) -> None:
        """What is still there after so many seconds is aborted."""
        self.knobs.set("running", 0)
        self.settle()
        deadline = time.monotonic() + seconds
        while self.running + len(self._waiting) > 0 and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        self._abort_all()
        await asyncio.sleep(0)


def inode_of(path: str):
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def crash() -> None:
    print("the simulated engine crashes, as it was told to", file=sys.stderr, flush=True)
    os._exit(1)


def crash_if_told(knobs, segment) -> None:
    """The first N starts crash; the count is kept beside the segment, so that a restarted container knows it."""
    if knobs["crash-at-start"] == 0:
        return
    path = "/dev/shm/simulated-crashes" if segment is None else f"{segment.path}.crashes"
    count = os.path.getsize(path) if os.path.exists(path) else 0
    if count >= knobs["crash-at-start"]:
        return
    with open(path, "ab") as file:
        file.write(b".")
    crash()
