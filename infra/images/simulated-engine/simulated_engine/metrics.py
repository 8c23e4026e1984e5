"""Prometheus's text of the figures that a control plane reads, under the engines' own names."""

REASONS = ("stop", "length", "abort", "error", "repetition")


def vllm(engine, model: str) -> str:
    label = f'{{engine="0",model_name="{model}"}}'
    asleep = engine.memory.state == "asleep"
    limit = engine.memory.limit
    used = engine.memory.kv_bytes / limit if limit > 0 else 0.0
    lines = [
        *metric("vllm:num_requests_running", "gauge", [(label, engine.running_all)]),
        *metric("vllm:num_requests_waiting", "gauge", [(label, engine.waiting_told)]),
        *metric("vllm:kv_cache_usage_perc", "gauge", [(label, used)]),
        *metric("vllm:engine_sleep_state", "gauge", sleep_states(model, asleep)),
        *metric("vllm:prompt_tokens", "counter", [(label, engine.prompt_tokens)]),
        *metric("vllm:generation_tokens", "counter", [(label, engine.generation_tokens)]),
        *metric("vllm:request_success", "counter", successes(engine, model)),
    ]
    return "\n".join(lines) + "\n"


def sglang(engine, model: str) -> str:
    label = f'{{engine_type="unified",model_name="{model}",tp_rank="0"}}'
    completed = sum(count for reason, count in engine.succeeded.items() if reason != "abort")
    lines = [
        *metric("sglang:num_running_reqs", "gauge", [(label, engine.running_all)]),
        *metric("sglang:num_queue_reqs", "gauge", [(label, engine.waiting_told)]),
        *metric("sglang:num_requests", "counter", [(label, completed)]),
        *metric("sglang:prompt_tokens", "counter", [(label, engine.prompt_tokens)]),
        *metric("sglang:generation_tokens", "counter", [(label, engine.generation_tokens)]),
    ]
    return "\n".join(lines) + "\n"


def metric(name: str, kind: str, samples) -> list[str]:
    full = f"{name}_total" if kind == "counter" else name
    return [f"# HELP {full} simulated", f"# TYPE {full} {kind}", *(f"{full}{label} {float(value)}" for label, value in samples)]


def successes(engine, model: str):
    for reason in REASONS:
        yield f'{{engine="0",finished_reason="{reason}",model_name="{model}"}}', engine.succeeded.get(reason, 0)


def sleep_states(model: str, asleep: bool):
    for state, holds in (("awake", not asleep), ("weights_offloaded", asleep), ("discard_all", False)):
        yield f'{{engine="0",model_name="{model}",sleep_state="{state}"}}', int(holds)
