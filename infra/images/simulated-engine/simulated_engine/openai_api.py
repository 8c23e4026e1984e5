"""OpenAI's API as vLLM answers it; the words are simulated, the shapes are not."""
import asyncio
import json
import time
import uuid

from .http_server import Answer, json_answer

WORDS = " This is a simulated answer: no model runs here.".split(" ")[1:]
DEFAULT_COMPLETION_TOKENS = 16


FINGERPRINT = "vllm-0.32.0-simulated"
TAIL = {"kv_transfer_params": None, "ec_transfer_params": None, "metrics": None}


def new_id() -> str:
    return uuid.uuid4().hex[:16]


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
        check_length(options.max_model_len, asked, self.prompt_tokens, self.tokens)
        self.is_stream = body.get("stream") is True
        stream_options = body.get("stream_options") or {}
        self.has_usage = stream_options.get("include_usage") is True
        self.has_running_usage = stream_options.get("continuous_usage_stats") is True
        self.id = ("chatcmpl-" if is_chat else "cmpl-") + new_id()
        self.created = int(time.time())

    def usage(self, generated: int) -> dict:
        total = self.prompt_tokens + generated
        return {"prompt_tokens": self.prompt_tokens, "total_tokens": total, "completion_tokens": generated}


def check_length(limit: int, asked, prompt: int, tokens: int) -> None:
    if asked and asked > limit:
        why = f"max_tokens={asked} cannot be greater than max_model_len={limit}. Please request fewer output tokens."
        raise Bad(f"{why} (parameter=max_tokens, value={asked})", param="max_tokens")
    if prompt + tokens > limit:
        why = f"This model's maximum context length is {limit} tokens. However, you requested {tokens} output tokens"
        raise Bad(f"{why} and your prompt contains at least {prompt} input tokens.", param="input_tokens")


def count_tokens(given) -> int:
    """About four characters each, at least one; a list of token ids by its length."""
    if isinstance(given, list) and all(isinstance(part, int) for part in given):
        return max(1, len(given))
    text = given if isinstance(given, str) else json.dumps(given)
    return max(1, len(text) // 4)


def word(place: int) -> str:
    return ("" if place == 0 else " ") + WORDS[place % len(WORDS)]


async def generate(engine, call: Call):
    """(word, finish reason or None) for each token from when its turn has come; an abort is the last one, without a word.

    A client that leaves is not counted as a request that ended, as with the real one.
    """
    generated = 0
    async with engine.turn() as turn:
        began = time.monotonic()
        while generated < call.tokens:
            due = began + (generated + 1) / engine.knobs["tokens-per-second"]
            await turn.rest(due - time.monotonic())
            if turn.is_aborted:
                engine.count("abort", call.prompt_tokens, generated)
                yield "", "abort"
                return
            generated += 1
            finish = call.finish if generated == call.tokens else None
            if finish is not None:
                engine.count(finish, call.prompt_tokens, generated)
            yield word(generated - 1), finish


async def whole(engine, call: Call) -> Answer:
    words, finish = [], None
    async for text, finish in generate(engine, call):
        words.append(text)
    usage = {**call.usage(len([text for text in words if text != ""])), "prompt_tokens_details": None, "completion_tokens_details": None}
    write = chat_body if call.is_chat else text_body
    return json_answer(write(call, "".join(words), finish, usage))


def chat_body(call: Call, text: str, finish: str, usage: dict) -> dict:
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": None, "audio": None}
    message |= {"function_call": None, "reasoning": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish, "stop_reason": None, "token_ids": None}
    choice |= {"routed_experts": None}
    head = {"id": call.id, "object": "chat.completion", "created": call.created, "model": call.model, "choices": [choice]}
    tail = {"prompt_logprobs": None, "prompt_token_ids": None, "prompt_text": None, **TAIL}
    return {**head, "service_tier": None, "system_fingerprint": FINGERPRINT, "usage": usage, **tail}


def text_body(call: Call, text: str, finish: str, usage: dict) -> dict:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish, "stop_reason": None, "token_ids": None}
    choice |= {"prompt_logprobs": None, "prompt_token_ids": None, "routed_experts": None}
    head = {"id": call.id, "object": "text_completion", "created": call.created, "model": call.model, "choices": [choice]}
    return {**head, "service_tier": None, "system_fingerprint": FINGERPRINT, "usage": usage, **TAIL}


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
            if generated == 0 and finish == "abort":
                break  # as the real one: a stream that never ran ends without a choice
            if generated == 0 and call.is_chat:
                yield event({**chunk(call, head, first_choice(), 0), "prompt_token_ids": None, "prompt_text": None})
            generated += text != ""
            last = finish is not None and not call.has_usage
            yield event(chunk(call, head, delta_choice(call, text, finish), generated) | fingerprint(last))
        if call.has_usage:
            yield event({**head, "choices": [], "usage": call.usage(generated), **fingerprint(True)})
        yield b"data: [DONE]\n\n"
    finally:
        await tokens.aclose()


def fingerprint(is_last: bool) -> dict:
    """On the last event of a stream only."""
    return {"system_fingerprint": FINGERPRINT} if is_last else {}


def chunk(call: Call, head: dict, choice: dict, generated: int) -> dict:
    usage = {"usage": {**call.usage(generated), "completion_tokens_details": None}} if call.has_running_usage else {}
    return {**head, "choices": [choice], **usage}


def first_choice() -> dict:
    return {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}


def delta_choice(call: Call, text: str, finish) -> dict:
    ending = {"logprobs": None, "finish_reason": finish}
    if not call.is_chat:
        return {"index": 0, "text": text, **ending, "stop_reason": None, "prompt_token_ids": None, "token_ids": None}
    ended = {} if finish is None else {"stop_reason": None}
    return {"index": 0, "delta": {"content": text}, **ending, **ended, "token_ids": None}


async def embeddings(engine, options, body: dict) -> Answer:
    given = body.get("input")
    texts = given if isinstance(given, list) and not all(isinstance(part, int) for part in given) else [given]
    tokens = sum(count_tokens(text) for text in texts)
    async with engine.turn():
        await asyncio.sleep(1 / engine.knobs["tokens-per-second"])
    engine.count("stop", tokens, 0)
    data = [{"index": place, "object": "embedding", "embedding": vector(text)} for place, text in enumerate(texts)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0, "prompt_tokens_details": None, "completion_tokens_details": None}
    head = {"id": f"embd-{new_id()}", "object": "list", "created": int(time.time())}
    return json_answer({**head, "model": body.get("model") or options.served_names[0], "data": data, "usage": usage})


def vector(text) -> list[float]:
    """Eight numbers that follow from the text alone."""
    data = json.dumps(text).encode()
    return [round(((sum(data[place::8]) % 200) - 100) / 100, 2) for place in range(8)]
