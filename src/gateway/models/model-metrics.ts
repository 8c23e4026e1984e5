import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface ModelMetrics {
  /** `model` is one that exists, or '' : clients cannot make labels. */
  answered(model: string, status: number, seconds: number): void;
  firstByte(model: string, seconds: number): void;
  tokens(model: string, prompt: number, completion: number): void;
  wakesAsked(count: number): void;
  held(by: 1 | -1): void;
}

const SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** `inFlight` is asked at each look. */
export function modelMetrics(registry: Registry, inFlight: () => number): ModelMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'berth_model_requests_total',
    help: 'requests for models by what was answered; 499: the client left',
    labelNames: ['model', 'code'],
    registers,
  });
  const seconds = new Histogram({
    name: 'berth_model_request_seconds',
    help: 'from the head of a request to the end of its answer',
    labelNames: ['model'],
    buckets: SECONDS,
    registers,
  });
  const firstByte = new Histogram({
    name: 'berth_model_first_byte_seconds',
    help: 'from the head of a request to the first byte of the engine’s answer',
    labelNames: ['model'],
    buckets: SECONDS,
    registers,
  });
  const tokens = new Counter({
    name: 'berth_model_tokens_total',
    help: 'as engines told them',
    labelNames: ['model', 'kind'],
    registers,
  });
  new Gauge({
    name: 'berth_model_requests_in_flight',
    help: 'under way to engines',
    registers,
    collect() {
      this.set(inFlight());
    },
  });
  const wakes = new Counter({ name: 'berth_model_wakes_asked_total', help: 'told to the ledger', registers });
  const held = new Gauge({ name: 'berth_model_requests_held', help: 'waiting for their model to wake', registers });
  return {
    answered(model, status, took) {
      requests.inc({ model, code: status });
      seconds.observe({ model }, took);
    },
    firstByte: (model, took) => firstByte.observe({ model }, took),
    tokens(model, prompt, completion) {
      if (prompt > 0) tokens.inc({ model, kind: 'prompt' }, prompt);
      if (completion > 0) tokens.inc({ model, kind: 'completion' }, completion);
    },
    wakesAsked: (count) => wakes.inc(count),
    held: (by) => held.inc(by),
  };
}
