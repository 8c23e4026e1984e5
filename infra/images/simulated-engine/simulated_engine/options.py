"""The command line of an engine. What a real engine takes and this one has no use for is accepted and left alone."""
import json
import os

from .knobs import Knobs
from .model_folder import fault_of

PREFIX = "--simulated-"
DEFAULT_GPU = [{"id": "sim-0", "memoryBytes": 80 * 2**30}]


class Options:
    """`served_names`: the first is the model's name on answers. `is_dev`: the sleep endpoints are open."""

    def __init__(self, kind: str, argv: list[str]) -> None:
        self.kind = kind
        self.knobs = Knobs()
        self.knobs.take(os.environ)
        self.given: dict[str, list[str]] = {}
        self._read(argv)
        self.model = self._one("model-path" if kind == "sglang" else "model", "simulated-model")
        self.served_names = self.given.get("served-model-name") or [self.model]
        self.host = self._one("host", "0.0.0.0")
        self.port = int(self._one("port", "30000" if kind == "sglang" else "8000"))
        self.max_model_len = int(self._one("max-model-len", "4096"))
        self.api_keys = [key for key in [*self.given.get("api-key", []), os.environ.get("VLLM_API_KEY")] if key]
        self.is_dev = os.environ.get("VLLM_SERVER_DEV_MODE") == "1" or kind == "sglang"
        self.has_control = self.is_dev or self.knobs["control"]
        self.can_sleep = "enable-memory-saver" in self.given if kind == "sglang" else "enable-sleep-mode" in self.given
        # As vLLM: without it, what is in flight at SIGTERM is aborted.
        self.shutdown_seconds = float(self._one("shutdown-timeout", "0"))
        self.segment = os.environ.get("KVCACHED_IPC_NAME") if has_kvcached() else None
        self.gpus = gpus_of(os.environ)
        # Engines of pools are told by their agent where their files are; a replica has a folder mounted.
        self.model_fault = None if has_kvcached() else fault_of(self.model)

    def _one(self, name: str, default: str) -> str:
        return (self.given.get(name) or [default])[-1]

    def _read(self, argv: list[str]) -> None:
        """`--name value…`, `--name=value`, `--flag`; words before the first option: `serve` and the model."""
        words: list[str] = []
        values = words
        for part in argv:
            if not part.startswith("--"):
                values.append(part)
                continue
            name, has_value, value = part.partition("=")
            values = self.given.setdefault(name.removeprefix("--"), [])
            if has_value:
                values.append(value)
        if self.kind == "vllm" and words[:1] != ["serve"]:
            raise ValueError("usage: vllm serve MODEL --served-model-name NAME … (simulated)")
        if len(words) > 1:
            self.given.setdefault("model", [words[1]])
        for name, given in self.given.items():
            if name.startswith("simulated-"):
                self.knobs.set(name.removeprefix("simulated-"), (given or [""])[-1])


def has_kvcached() -> bool:
    return os.environ.get("ENABLE_KVCACHED", "").lower() in ("true", "1")


def gpus_of(environment) -> list[dict]:
    """JSON `[{"id","memoryBytes"}]`, or ids as Berth lists them, with BERTH_GPU_MEMORY_BYTES beside them."""
    text = environment.get("BERTH_SIMULATED_GPUS", "").strip()
    if text == "":
        return DEFAULT_GPU
    if text.startswith("["):
        return [{"id": gpu["id"], "memoryBytes": int(gpu["memoryBytes"])} for gpu in json.loads(text)]
    ids = text.split(",")
    sizes = environment.get("BERTH_GPU_MEMORY_BYTES", "").split(",")
    if len(sizes) != len(ids):
        raise ValueError("BERTH_SIMULATED_GPUS and BERTH_GPU_MEMORY_BYTES list unlike numbers of devices")
    return [{"id": id, "memoryBytes": int(size)} for id, size in zip(ids, sizes)]
