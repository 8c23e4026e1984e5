"""`python3 -m sglang.launch_server …`: the simulated engine in SGLang's wire format."""
import os
import sys

START = "/opt/simulated-engine/start.py"
os.execv("/usr/bin/python3", ["python3", "-S", "-E", START, "sglang", *sys.argv[1:]])
