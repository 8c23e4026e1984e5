"""OpenAI's API as vLLM answers it; the words are simulated, the shapes are not."""
import asyncio
import json
import time
import uuid

from .http_server import Answer, json_answer

WORDS = " This is a simulated answer: no model runs here.".split(" ")[1:]
DEFAULT_COMPLETION_TOKENS = 16


class Bad(Exception):
    """An answer in OpenAI's error form."""

    def __init__(self, message: str, status: int = 400, type: str = "BadRequestError", param=None) -> None:
        super().__init__(message)
        error = {"message": message, "type": type, "param": param, "code": status}
        self.answer = json_answer({"error": error}, status)


class Call:
    """One request for tokens, checked. `is_chat` else a completion."""

    def __init__(self, options, knobs, body: dict, is_chat: bool) -> None:
        self.is_chat = is_chat
        self.model = body.get("model") or options.served_names[0]
        self.prompt_tokens = count_tokens(body.get("messages") if is_chat else body.get("prompt"))
        asked = body.get("max_completion_tokens") or body.get("max_tokens")
        self.tokens = asked or (knobs["answer-tokens"] if is_chat else DEFAULT_COMPLETION_TOKENS)
        self.finish = "length" if asked or not is_chat else "stop"
        room = options.max_model_len - self.prompt_tokens
        if self.tokens > room:
            raise Bad(too_long(options.max_model_len, self.tokens, self.prompt_tokens), param="input_tokens")
        self.is_stream = body.get("stream") is True
        stream_options = body.get("stream_options") or {}
        self.has_usage = stream_options.get("include_usage") is True
        self.has_running_usage = stream_options.get("continuous_usage_stats") is True
        self.id = ("chatcmpl-" if is_chat else "cmpl-") + uuid.uuid4().hex
        self.created = int(time.time())

    def usage(self, generated: int) -> dict:
        total = self.prompt_tokens + generated
        return {"prompt_tokens": self.prompt_tokens, "total_tokens": total, "completion_tokens": generated}


def too_long(limit: int, asked: int, prompt: int) -> str:
    return (
        f"This model's maximum context length is {limit} tokens. However, you requested {asked} output tokens and your "
        f"prompt contains at least {prompt} input tokens, for a total of at least {asked + prompt} tokens."
    )


def count_tokens(given) -> int:
    """About four characters each, at least one; a list of token ids by its length."""
    if isinstance(given, list) and all(isinstance(part, int) for part in given):
        return max(1, len(given))
    text = given if isinstance(given, str) else json.dumps(given)
    return max(1, len(text) // 4)


def word(place: int) -> str:
    return ("" if place == 0 else " ") + WORDS[place % len(WORDS)]


async def generate(engine, call: Call):
    """(word, finish reason or None) for each token from when its turn has come; an abort is the last one, without a word."""
    generated, finish = 0, "abort"
    try:
        async with engine.turn() as turn:
            began = time.monotonic()
            while generated < call.tokens:
                due = began + (generated + 1) / engine.knobs["tokens-per-second"]
                await turn.rest(due - time.monotonic())
                if turn.is_aborted:
                    yield "", "abort"
                    return
                generated += 1
                is_last = generated == call.tokens
                finish = call.finish if is_last else "abort"
                yield word(generated - 1), call.finish if is_last else None
    finally:
        engine.count(finish, call.prompt_tokens, generated)


async def whole(engine, call: Call) -> Answer:
    words, finish = [], None
    async for text, finish in generate(engine, call):
        words.append(text)
    usage = {**call.usage(len([text for text in words if text != ""])), "prompt_tokens_details": None}
    return json_answer(chat_body(call, "".join(words), finish, usage) if call.is_chat else text_body(call, "".join(words), finish, usage))


def chat_body(call: Call, text: str, finish: str, usage: dict) -> dict:
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": None, "audio": None}
    message |= {"function_call": None, "tool_calls": [], "reasoning": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish, "stop_reason": None, "token_ids": None}
    head = {"id": call.id, "object": "chat.completion", "created": call.created, "model": call.model, "choices": [choice]}
    tail = {"prompt_logprobs": None, "prompt_token_ids": None, "kv_transfer_params": None}
    return {**head, "service_tier": None, "system_fingerprint": None, "usage": usage, **tail}


def text_body(call: Call, text: str, finish: str, usage: dict) -> dict:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish, "stop_reason": None, "token_ids": None}
    choice |= {"prompt_logprobs": None, "prompt_token_ids": None}
    head = {"id": call.id, "object": "text_completion", "created": call.created, "model": call.model, "choices": [choice]}
    return {**head, "service_tier": None, "system_fingerprint": None, "usage": usage, "kv_transfer_params": None}


def event(value) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


async def streamed(engine, call: Call):
    """Server-sent events; a client that leaves ends the generator, and with it the turn."""
    head = {"id": call.id, "object": "chat.completion.chunk" if call.is_chat else "text_completion"}
    head |= {"created": call.created, "model": call.model}
    generated = 0
    tokens = generate(engine, call)
    try:
        async for text, finish in tokens:
            if generated == 0 and call.is_chat:
                yield event(chunk(call, head, first_choice(), 0))
            generated += text != ""
            yield event(chunk(call, head, delta_choice(call, text, finish), generated))
        if call.has_usage:
            yield event({**head, "choices": [], "usage": call.usage(generated)})
        yield b"data: [DONE]\n\n"
    finally:
        await tokens.aclose()


def chunk(call: Call, head: dict, choice: dict, generated: int) -> dict:
    usage = {"usage": call.usage(generated)} if call.has_running_usage else {}
    return {**head, "choices": [choice], **usage}


def first_choice() -> dict:
    return {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}


def delta_choice(call: Call, text: str, finish) -> dict:
    ended = {} if finish is None else {"stop_reason": None}
    if not call.is_chat:
        return {"index": 0, "text": text, "logprobs": None, "finish_reason": finish, "stop_reason": None}
    return {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": finish, **ended, "token_ids": None}


async def embeddings(engine, options, body: dict) -> Answer:
    given = body.get("input")
    texts = given if isinstance(given, list) and not all(isinstance(part, int) for part in given) else [given]
    tokens = sum(count_tokens(text) for text in texts)
    async with engine.turn():
        await asyncio.sleep(1 / engine.knobs["tokens-per-second"])
    engine.count("stop", tokens, 0)
    data = [{"index": place, "object": "embedding", "embedding": vector(text)} for place, text in enumerate(texts)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0, "prompt_tokens_details": None}
    head = {"id": f"embd-{uuid.uuid4().hex}", "object": "list", "created": int(time.time())}
    return json_answer({**head, "model": body.get("model") or options.served_names[0], "data": data, "usage": usage})


def vector(text) -> list[float]:
    """Eight numbers that follow from the text alone."""
    data = json.dumps(text).encode()
    return [round(((sum(data[place::8]) % 200) - 100) / 100, 2) for place in range(8)]
