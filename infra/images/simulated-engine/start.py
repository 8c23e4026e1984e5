"""The simulated engine's program: `start.py vllm serve MODEL …` or `start.py sglang …`."""
import sys

sys.modules["ssl"] = None  # asyncio does without: 4 MB less in each engine
sys.path.insert(0, "/opt/simulated-engine")
sys.dont_write_bytecode = True

from simulated_engine.program import main  # noqa: E402

main(sys.argv[1], sys.argv[2:])
