"""Which path answers what, in vLLM's or SGLang's form."""
import asyncio
import json
import time

from . import metrics
from .engine import Refused, crash
from .http_server import Answer, Request, json_answer
from .knobs import FROM_JSON
from .openai_api import Bad, Call, embeddings, new_id, streamed, whole

VLLM_VERSION = "0.32.0"


class Routes:
    def __init__(self, options, engine) -> None:
        self._options = options
        self._engine = engine
        self._routes = {
            ("GET", "/health"): self._health,
            ("GET", "/v1/models"): self._models,
            ("GET", "/metrics"): self._metrics,
            ("POST", "/v1/chat/completions"): self._chat,
            ("POST", "/v1/completions"): self._completion,
            ("POST", "/v1/embeddings"): self._embedding,
        }
        self._routes |= self._sglang() if options.kind == "sglang" else self._vllm()
        if options.has_control:
            self._routes |= {("GET", "/simulated"): self._show, ("POST", "/simulated"): self._tell}
        self._paths = {path for _, path in self._routes}

    def _vllm(self) -> dict:
        routes = {("GET", "/version"): self._version, ("GET", "/load"): self._load}
        if self._options.is_dev:
            routes |= {
                ("POST", "/sleep"): self._sleep,
                ("POST", "/wake_up"): self._wake,
                ("GET", "/is_sleeping"): self._is_sleeping,
            }
        return routes

    def _sglang(self) -> dict:
        return {
            ("POST", "/release_memory_occupation"): self._release,
            ("POST", "/resume_memory_occupation"): self._resume,
        }

    async def respond(self, request: Request) -> Answer:
        if self._asks_for_key(request.path) and not self._is_allowed(request):
            return json_answer({"error": "Unauthorized"}, 401)
        route = self._routes.get((request.method, request.path))
        try:
            if route is None:
                known = request.path in self._paths
                return json_answer({"detail": "Method Not Allowed"}, 405) if known else json_answer({"detail": "Not Found"}, 404)
            return await route(request)
        except Bad as why:
            return why.answer
        except Refused as why:
            return Bad(str(why), 500, "InternalServerError").answer

    def _asks_for_key(self, path: str) -> bool:
        """vLLM does under /v1, SGLang everywhere but where it is looked at."""
        if self._options.kind == "vllm":
            return path.startswith("/v1")
        return path not in ("/health", "/metrics", "/simulated")

    def _is_allowed(self, request: Request) -> bool:
        keys = self._options.api_keys
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        return not keys or (scheme.lower() == "bearer" and key in keys)

    def _body(self, request: Request) -> dict:
        try:
            body = json.loads(request.body)
        except ValueError as why:
            raise invalid("json_invalid", "body.1", f"JSON decode error: {why}") from why
        if not isinstance(body, dict):
            raise invalid("model_attributes_type", "body", "Input should be a valid dictionary")
        model = body.get("model")
        if model is not None and model not in self._options.served_names:
            raise Bad(f"The model `{model}` does not exist. Valid aliases: {', '.join(self._options.served_names)}.", 404, "NotFoundError", "model")
        return body

    async def _health(self, _: Request) -> Answer:
        return Answer(503 if self._engine.knobs["unhealthy"] else 200)

    async def _version(self, _: Request) -> Answer:
        return json_answer({"version": f"{VLLM_VERSION}+simulated"})

    async def _models(self, _: Request) -> Answer:
        return json_answer({"object": "list", "data": [self._model(name) for name in self._options.served_names]})

    def _model(self, name: str) -> dict:
        head = {"id": name, "object": "model", "created": self._engine.created, "owned_by": self._options.kind}
        return {**head, "root": self._options.model, "parent": None, "max_model_len": self._options.max_model_len, "permission": [permission()]}

    async def _metrics(self, _: Request) -> Answer:
        if self._engine.knobs["metrics-fail"]:
            raise Bad("the scrape fails, as it was told to (simulated)", 500, "InternalServerError")
        write = metrics.sglang if self._options.kind == "sglang" else metrics.vllm
        text = write(self._engine, self._options.served_names[0])
        return Answer(200, text.encode(), "text/plain; version=1.0.0; charset=utf-8")

    async def _load(self, _: Request) -> Answer:
        return json_answer({"server_load": self._engine.running + self._engine.waiting})

    async def _chat(self, request: Request) -> Answer:
        body = self._body(request)
        if not isinstance(body.get("messages"), list):
            raise invalid("missing", "body.messages", "Field required")
        return await self._call(body, is_chat=True)

    async def _completion(self, request: Request) -> Answer:
        return await self._call(self._body(request), is_chat=False)

    async def _call(self, body: dict, is_chat: bool) -> Answer:
        call = Call(self._options, self._engine.knobs, body, is_chat)
        if call.is_stream:
            return Answer(200, content_type="text/event-stream; charset=utf-8", chunks=streamed(self._engine, call))
        return await whole(self._engine, call)

    async def _embedding(self, request: Request) -> Answer:
        return await embeddings(self._engine, self._options, self._body(request))

    async def _sleep(self, request: Request) -> Answer:
        level, mode = request.query.get("level", "1"), request.query.get("mode", "abort")
        if level not in ("0", "1", "2"):
            raise invalid("less_than_equal", "query.level", "Input should be less than or equal to 2")
        if mode not in ("abort", "wait", "keep"):
            raise invalid("literal_error", "query.mode", "Input should be 'abort', 'wait' or 'keep'")
        await self._engine.sleep(mode)
        return json_answer({"status": "sleeping", "level": int(level)})

    async def _wake(self, _: Request) -> Answer:
        await self._engine.wake()
        return json_answer({"status": "awake", "tags": None})

    async def _is_sleeping(self, _: Request) -> Answer:
        return json_answer({"is_sleeping": self._engine.memory.state not in ("awake", "waking")})

    async def _release(self, _: Request) -> Answer:
        await self._engine.sleep("wait")
        return Answer(200)

    async def _resume(self, _: Request) -> Answer:
        await self._engine.wake()
        return Answer(200)

    async def _show(self, _: Request) -> Answer:
        engine = self._engine
        about = {"simulated": True, "state": engine.memory.state, "running": engine.running_all, "waiting": engine.waiting}
        return json_answer({**about, **engine.memory.account(), "knobs": engine.knobs.as_json()})

    async def _tell(self, request: Request) -> Answer:
        """`{"crash": true}` ends the engine; any other name is a knob in camel case."""
        body = json.loads(request.body)
        if body.pop("crash", False):
            asyncio.get_running_loop().call_soon(crash)
            return json_answer({"simulated": True})
        try:
            self._engine.tell({FROM_JSON[name]: value for name, value in body.items()})
        except (KeyError, TypeError, ValueError) as why:
            raise Bad(f"no such knob, or no value for it: {why} (simulated)") from why
        return await self._show(request)


def invalid(type: str, place: str, message: str) -> Bad:
    """As the framework's own check of a request says it."""
    return Bad(f"1 validation error:\n  {{'type': '{type}', 'loc': '{place}', 'msg': {message!r}}}", 400, "Bad Request", place)


def permission() -> dict:
    allowed = {"allow_sampling": True, "allow_logprobs": True, "allow_view": True}
    denied = {"allow_create_engine": False, "allow_search_indices": False, "allow_fine_tuning": False}
    head = {"id": f"modelperm-{new_id()}", "object": "model_permission", "created": int(time.time())}
    return {**head, **allowed, **denied, "organization": "*", "group": None, "is_blocking": False}
