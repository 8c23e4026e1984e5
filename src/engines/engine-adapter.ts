import type { Engine, EngineOrder } from '../contract/index.js';

/** What runs in the container of an engine. `command` is all of it; the image's own entry point is not used. */
export interface EngineProcess {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Where it listens inside its container. */
  readonly port: number;
}

/** What of an order decides about the process. */
export interface EngineLaunch extends Pick<EngineOrder, 'modelName' | 'args' | 'parallel' | 'environment' | 'apiKey'> {
  /** Where the model lies in the container. */
  readonly modelPath: string;
  /** kvcached's segment in the member's /dev/shm. */
  readonly segment: string;
}

/** Of one scrape of `/metrics`. */
export interface EngineLoad {
  readonly running: number;
  readonly waiting: number;
  /** Requests that ended since the engine started. */
  readonly completed: number;
}

export interface EngineCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
}

/**
 * One kind of engine, as a wire format: what is started, what is asked, what the answers mean. Pure; `engine-client.ts`
 * speaks it. Everything above knows engines through this alone.
 */
export interface EngineAdapter {
  readonly engine: Engine;
  readonly process: (launch: EngineLaunch) => EngineProcess;
  /** 2xx: it serves. */
  readonly health: EngineCall;
  /** OpenAI's list: the model's name is among `data[].id` once it is loaded. */
  readonly models: EngineCall;
  readonly metrics: EngineCall;
  /** Undefined: the text has no such figures, so its load is not known. */
  readonly readLoad: (metrics: string) => EngineLoad | undefined;
  readonly sleep: EngineCall;
  readonly wake: EngineCall;
  /** Undefined: this kind of engine does not tell; whoever slept it remembers. */
  readonly sleeping: EngineCall | undefined;
  readonly readSleeping: (body: string) => boolean | undefined;
}
