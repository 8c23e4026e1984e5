"""Start and end of a simulated engine: bound early, listening when it is ready, drained on SIGTERM."""
import asyncio
import gc
import os
import signal
import socket
import sys

from .engine import Engine
from .http_server import Connection
from .options import Options
from .routes import Routes


def main(kind: str, argv: list[str]) -> None:
    try:
        options = Options(kind, argv)
    except (KeyError, ValueError) as why:
        print(f"{kind} (simulated): error: {why}", file=sys.stderr)
        sys.exit(2)
    if options.model_fault is not None:
        print(f"OSError: {options.model_fault} (simulated)", file=sys.stderr, flush=True)
        sys.exit(1)
    sys.exit(asyncio.run(serve(options)))


async def serve(options: Options) -> int:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stopped.set)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((options.host, options.port))
    say(f"simulated {options.kind}: loading {options.served_names[0]} for {options.knobs['start-seconds']} s")
    engine = Engine(options)
    loading = asyncio.ensure_future(engine.load())
    stopping = asyncio.ensure_future(stopped.wait())
    await asyncio.wait({loading, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if stopped.is_set():
        engine.memory.end()
        return 0
    loading.result()
    connections: set[Connection] = set()
    routes = Routes(options, engine)
    server = await loop.create_server(lambda: Connection(routes.respond, connections), sock=listener)
    say(f"simulated {options.kind}: ready on port {options.port}")
    looking = asyncio.ensure_future(engine.keep_looking())
    gc.freeze()
    await stopping
    server.close()
    await engine.drain(options.shutdown_seconds)
    await until_idle(connections)
    looking.cancel()
    engine.memory.end()
    say(f"simulated {options.kind}: drained")
    os._exit(0)


async def until_idle(connections: set) -> None:
    """The last answers are written; nobody is waited for longer than a second."""
    for _ in range(50):
        if not any(connection.is_busy for connection in connections):
            return
        await asyncio.sleep(0.02)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
