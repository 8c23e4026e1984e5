"""A simulated GPU: one file in /dev/shm that every engine keeps its account in, under a file lock.

It gives no memory that it does not have, and records each excess: of memory that was asked for (`memory`), and of
entitlement (`entitlement`): engines not asleep with their footprint and the limit in force, sleepers with what they
really keep, together above what is usable. Which sleepers are promised more it cannot know.
"""
import fcntl
import json
import os
import time

from .segment import SHM, Segment

PREFIX = "simulated-gpu-"
KEPT_EXCESSES = 200


class OutOfMemory(Exception):
    pass


class Gpu:
    def __init__(self, id: str, memory_bytes: int | None = None) -> None:
        self.id = id
        self.path = os.path.join(SHM, PREFIX + id)
        self._memory_bytes = memory_bytes

    def update(self, key: str, cause: str, change: dict) -> None:
        """Registers the change of one engine's account. Raises OutOfMemory, and then nothing has changed."""

        def apply(account: dict) -> None:
            before = account["engines"].get(key, {})
            after = {**before, **change}
            after["mappedBytes"] = mapped_bytes(after)
            account["engines"][key] = after
            total = sum(mapped_bytes(engine) for engine in account["engines"].values())
            if total > account["memoryBytes"] and after["mappedBytes"] > before.get("mappedBytes", 0):
                record(account, "memory", cause, total)
                restore(account, key, before)
                raise OutOfMemory(f"{self.id}: {total} bytes of {account['memoryBytes']} would be mapped")
            check_entitlement(account, cause)

        self._locked(apply)

    def leave(self, key: str) -> None:
        """The engine's process ends: its memory is free."""
        self._locked(lambda account: account["engines"].pop(key, None))
        forget_life(self.id, key)

    def look(self, cause: str) -> None:
        self._locked(lambda account: check_entitlement(account, cause))

    def audit(self) -> dict:
        return self._locked(lambda account: check_entitlement(account, "audit"))

    def _locked(self, apply) -> dict:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            account = read_account(fd) or self._empty()
            drop_dead(account)
            try:
                apply(account)
            finally:
                write_account(fd, account)
            return account
        finally:
            os.close(fd)

    def _empty(self) -> dict:
        return {
            "simulated": True,
            "id": self.id,
            "memoryBytes": self._memory_bytes,
            "engines": {},
            "checks": 0,
            "excesses": 0,
            "mostMappedBytes": 0,
            "mostEntitledBytes": 0,
            "isOverEntitled": False,
            "violations": [],
        }


def all_gpus() -> list[Gpu]:
    names = sorted(name for name in os.listdir(SHM) if name.startswith(PREFIX) and "." not in name)
    return [Gpu(name.removeprefix(PREFIX)) for name in names]


def read_account(fd: int):
    size = os.fstat(fd).st_size
    return json.loads(os.pread(fd, size, 0)) if size > 0 else None


def write_account(fd: int, account: dict) -> None:
    data = json.dumps(account).encode()
    os.pwrite(fd, data, 0)
    os.ftruncate(fd, len(data))


def mapped_bytes(engine: dict) -> int:
    return engine.get("footprintBytes", 0) + engine.get("kvBytes", 0)


def limit_in_force(engine: dict) -> int:
    """What its segment says now, whoever wrote it last; an engine that does not obey it has its own."""
    if engine.get("segment") is None or engine.get("ignoresLimit"):
        return engine["limitBytes"]
    found = Segment(engine["segment"]).read()
    return engine["limitBytes"] if found is None else found[0]


def entitled_bytes(engine: dict) -> int:
    if engine["state"] == "asleep":
        return mapped_bytes(engine)
    return engine["fullFootprintBytes"] + max(limit_in_force(engine), engine.get("kvBytes", 0))


def check_entitlement(account: dict, cause: str) -> None:
    account["checks"] += 1
    engines = list(account["engines"].values())
    entitled = sum(entitled_bytes(engine) for engine in engines)
    account["mostEntitledBytes"] = max(account["mostEntitledBytes"], entitled)
    account["mostMappedBytes"] = max(account["mostMappedBytes"], sum(mapped_bytes(engine) for engine in engines))
    is_over = entitled > account["memoryBytes"]
    if is_over and not account["isOverEntitled"]:
        record(account, "entitlement", cause, entitled)
    account["isOverEntitled"] = is_over


def record(account: dict, kind: str, cause: str, total: int) -> None:
    account["excesses"] += 1
    engines = {key: {**engine, "limitInForceBytes": limit_in_force(engine)} for key, engine in account["engines"].items()}
    found = {"at": time.time(), "kind": kind, "cause": cause, "bytes": total, "engines": engines}
    account["violations"] = [*account["violations"], found][:KEPT_EXCESSES]


def restore(account: dict, key: str, before: dict) -> None:
    if before:
        account["engines"][key] = before
    else:
        del account["engines"][key]


def life_path(gpu_id: str, key: str) -> str:
    return os.path.join(SHM, f"{PREFIX}{gpu_id}.{key}")


def hold_life(gpu_id: str, key: str) -> int:
    """A lock that ends with this process, however it ends: so others see that its memory is free."""
    fd = os.open(life_path(gpu_id, key), os.O_RDWR | os.O_CREAT, 0o666)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def forget_life(gpu_id: str, key: str) -> None:
    try:
        os.unlink(life_path(gpu_id, key))
    except FileNotFoundError:
        pass


def is_alive(gpu_id: str, key: str) -> bool:
    try:
        fd = os.open(life_path(gpu_id, key), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def drop_dead(account: dict) -> None:
    for key in [key for key in account["engines"] if not is_alive(account["id"], key)]:
        del account["engines"][key]
        forget_life(account["id"], key)
