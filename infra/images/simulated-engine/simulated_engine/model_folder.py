"""The files of a model that is a folder. None is read: an engine without them does not start, as the real ones."""
import os

WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt")


def fault_of(model: str) -> str | None:
    """What is missing; None: it may start. A model that is no path is none of a folder."""
    if not model.startswith("/"):
        return None
    if not os.path.isdir(model):
        return f"{model} is no folder with a model"
    names = os.listdir(model)
    if "config.json" not in names:
        return f"{model} does not appear to have a file named config.json"
    if not any(name.endswith(WEIGHTS) for name in names):
        return f"{model} has no weights ({', '.join('*' + end for end in WEIGHTS)})"
    return None
