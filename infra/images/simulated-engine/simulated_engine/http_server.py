"""HTTP/1.1 over asyncio with keep-alive and chunked answers; a client that leaves cancels what was begun for it."""
import asyncio
import json
from contextlib import aclosing
from urllib.parse import parse_qsl

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed"}
REASONS |= {422: "Unprocessable Entity", 500: "Internal Server Error", 503: "Service Unavailable"}
MAX_BODY_BYTES = 64 * 2**20


class Request:
    def __init__(self, method: str, target: str, headers: dict, body: bytes) -> None:
        self.method = method
        self.path, _, query = target.partition("?")
        self.query = dict(parse_qsl(query))
        self.headers = headers
        self.body = body


class Answer:
    """`chunks`: an async iterator of bytes in the place of a body."""

    def __init__(self, status: int, body: bytes = b"", content_type: str | None = None, chunks=None) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.chunks = chunks


def json_answer(value, status: int = 200) -> Answer:
    return Answer(status, json.dumps(value, separators=(",", ":")).encode(), "application/json")


class Connection(asyncio.StreamReaderProtocol):
    """One client. Its handler is cancelled when it leaves, half-closed counts as left, as with the real server."""

    def __init__(self, respond, open_connections: set) -> None:
        self._open = open_connections
        self._serving = None
        self.is_busy = False
        super().__init__(asyncio.StreamReader(limit=2**17), self._begin)
        self._respond = respond

    def _begin(self, reader, writer) -> None:
        self._open.add(self)
        self.writer = writer
        self._serving = asyncio.ensure_future(self._serve(reader, writer))

    def eof_received(self) -> bool:
        super().eof_received()
        return False

    def connection_lost(self, error) -> None:
        super().connection_lost(error)
        self._open.discard(self)
        if self._serving is not None:
            self._serving.cancel()

    async def _serve(self, reader, writer) -> None:
        try:
            while (request := await read_request(reader)) is not None:
                self.is_busy = True
                keep = request.headers.get("connection", "").lower() != "close"
                await self._answer(request, writer, keep)
                self.is_busy = False
                if not keep:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass
        finally:
            writer.close()

    async def _answer(self, request: Request, writer, keep: bool) -> None:
        answer = await self._respond(request)
        head = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Unknown')}", "server: uvicorn (simulated)"]
        if answer.content_type is not None:
            head.append(f"content-type: {answer.content_type}")
        head.append("transfer-encoding: chunked" if answer.chunks else f"content-length: {len(answer.body)}")
        if not keep:
            head.append("connection: close")
        writer.write(("\r\n".join(head) + "\r\n\r\n").encode() + answer.body)
        if answer.chunks is not None:
            async with aclosing(answer.chunks) as chunks:
                async for chunk in chunks:
                    writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                    await writer.drain()
            writer.write(b"0\r\n\r\n")
        await writer.drain()


async def read_request(reader):
    """None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    return Request(method, target, headers, await read_body(reader, headers))


async def read_body(reader, headers: dict) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        length = int(headers.get("content-length", "0"))
        if length > MAX_BODY_BYTES:
            raise ValueError("the body is too large")
        return await reader.readexactly(length)
    body = b""
    while (size := int((await reader.readline()).split(b";")[0], 16)) > 0:
        body += await reader.readexactly(size)
        await reader.readexactly(2)
        if len(body) > MAX_BODY_BYTES:
            raise ValueError("the body is too large")
    await reader.readline()
    return body
