import { type Dispatcher, request } from 'undici';
import type { EngineAdapter, EngineCall, EngineLoad } from './engine-adapter.js';

/** One engine over HTTP. Only `sleep` and `wake` throw (`EngineFailure`, or the signal's reason). */
export interface EngineClient {
  /** False also when nothing answers. */
  readonly isHealthy: () => Promise<boolean>;
  /** It has loaded this model. Without a key, an engine that asks for one is taken to serve: it listens once it is loaded. */
  readonly serves: (modelName: string) => Promise<boolean>;
  /** null: not readable. */
  readonly load: () => Promise<EngineLoad | null>;
  /** Undefined: it did not say. */
  readonly isSleeping: () => Promise<boolean | undefined>;
  readonly sleep: (signal: AbortSignal) => Promise<void>;
  readonly wake: (signal: AbortSignal) => Promise<void>;
}

export interface EngineTarget {
  readonly adapter: EngineAdapter;
  readonly host: string;
  readonly port: number;
  readonly apiKey: string | undefined;
  readonly dispatcher?: Dispatcher;
}

export class EngineFailure extends Error {
  override readonly name = 'EngineFailure';
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A question that an engine at work answers late is still an answer; one that hangs must not hold up a look. */
const QUESTION_MS = 3_000;
const isOk = ({ status }: Answer): boolean => status >= 200 && status < 300;

export function createEngineClient(target: EngineTarget): EngineClient {
  const { adapter } = target;
  const ask = (call: EngineCall): Promise<Answer | undefined> =>
    send(target, call, AbortSignal.timeout(QUESTION_MS)).catch(() => undefined);
  const order = async (call: EngineCall, signal: AbortSignal): Promise<void> => {
    const answer = await send(target, call, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new EngineFailure(`${call.path}: no answer`, { cause: error });
    });
    if (!isOk(answer)) throw new EngineFailure(`${call.path}: ${answer.status} ${answer.text.slice(0, 200)}`);
  };
  return {
    isHealthy: async () => {
      const answer = await ask(adapter.health);
      return answer !== undefined && isOk(answer);
    },
    serves: async (modelName) => {
      const answer = await ask(adapter.models);
      if (answer === undefined) return false;
      if (answer.status === 401 && target.apiKey === undefined) return true;
      return isOk(answer) && modelIds(answer.text).includes(modelName);
    },
    load: async () => {
      const answer = await ask(adapter.metrics);
      return answer !== undefined && isOk(answer) ? (adapter.readLoad(answer.text) ?? null) : null;
    },
    isSleeping: async () => {
      const answer = adapter.sleeping && (await ask(adapter.sleeping));
      return answer !== undefined && isOk(answer) ? adapter.readSleeping(answer.text) : undefined;
    },
    sleep: (signal) => order(adapter.sleep, signal),
    wake: (signal) => order(adapter.wake, signal),
  };
}

async function send(target: EngineTarget, { method, path, body }: EngineCall, signal: AbortSignal): Promise<Answer> {
  const { host, port, apiKey, dispatcher } = target;
  const answer = await request(`http://${host}:${port}${path}`, {
    ...(dispatcher && { dispatcher }),
    method,
    signal,
    headersTimeout: 0, // sleep and wake take as long as their signal lets them
    bodyTimeout: 0,
    headers: {
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.statusCode, text: await answer.body.text() };
}

function modelIds(text: string): readonly string[] {
  try {
    const { data } = JSON.parse(text) as { readonly data?: readonly { readonly id?: unknown }[] };
    return (data ?? []).flatMap(({ id }) => (typeof id === 'string' ? [id] : []));
  } catch {
    return [];
  }
}
