"""`simulated-gpu audit`: accounts and excesses of every simulated GPU here, as JSON; ends with 1 when there is an excess.

`simulated-gpu query`: who takes how many bytes of which GPU, as nvidia-smi would say it.
"""
import json
import sys

sys.path.insert(0, "/opt/simulated-engine")
sys.dont_write_bytecode = True

from simulated_engine.gpu import all_gpus  # noqa: E402


def audit() -> int:
    accounts = [gpu.audit() for gpu in all_gpus()]
    print(json.dumps({"simulated": True, "gpus": accounts}, indent=2))
    return 1 if any(account["excesses"] > 0 for account in accounts) else 0


def query() -> int:
    gpus = []
    for account in (gpu.audit() for gpu in all_gpus()):
        processes = [
            {"model": engine["model"], "segment": engine["segment"], "host": engine["host"], "usedBytes": engine["mappedBytes"]}
            for engine in account["engines"].values()
        ]
        gpus.append({"id": account["id"], "memoryBytes": account["memoryBytes"], "processes": processes})
    print(json.dumps({"simulated": True, "gpus": gpus}, indent=2))
    return 0


COMMANDS = {"audit": audit, "query": query}
if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
    sys.exit("usage: simulated-gpu audit|query")
sys.exit(COMMANDS[sys.argv[1]]())
