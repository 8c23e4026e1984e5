import { setTimeout as pause } from 'node:timers/promises';
import type { ModelClaim, ModelEvent } from '../../contract/index.js';
import type { Client } from '../../sdk/index.js';
import { CliError } from '../cli-error.js';
import { gpuBarsText, PLAIN } from '../gpu-bars-text.js';
import type { DemoOptions } from './demo-options.js';
import type { Answer, Load, ModelsClient } from './models-client.js';
import { differencesOf, type Figures, type SeenModels } from './models-figures.js';

export const POOL = 'demo-models';
const LOOK_MILLISECONDS = 50;
const SECONDS_MAX = 60;

/** What a step showed: kept for the recording. */
export interface SeenStep {
  readonly step: string;
  readonly atSeconds: number;
  readonly gpu: SeenModels['gpu'];
  readonly claims: Readonly<Record<string, string>>;
}

export interface ModelsStageDeps {
  readonly options: DemoOptions;
  readonly client: Client;
  readonly gateway: ModelsClient;
}

/** Looks at the pool's GPU, its claims and the gateway until all is as it has to be; says it, and keeps it. */
export class ModelsStage {
  readonly seen: SeenStep[] = [];
  readonly answers: Answer[] = [];
  readonly #deps: ModelsStageDeps;
  readonly #began = performance.now();
  #loads: readonly Load[] = [];

  constructor(deps: ModelsStageDeps) {
    this.#deps = deps;
  }

  get client(): Client {
    return this.#deps.client;
  }
  get admin(): Client {
    return this.#deps.options.admin;
  }
  say(text: string): void {
    this.#deps.options.say(text);
  }

  /** Streams that have to go on while anything else is looked at. */
  async serving(loads: readonly Load[]): Promise<void> {
    this.#loads = loads;
  }
  load(model: string, requests: number): Promise<Load> {
    return this.#deps.gateway.load(model, requests);
  }

  async until(step: string, figures: Figures, secondsMax = SECONDS_MAX): Promise<SeenModels> {
    const until = performance.now() + secondsMax * 1000;
    for (;;) {
      const seen = await this.look();
      const differing = differencesOf(figures, seen);
      if (differing.length === 0) {
        this.#tell(step, seen);
        return seen;
      }
      if (performance.now() > until) throw differs(step, differing);
      await pause(LOOK_MILLISECONDS);
    }
  }

  /** All of it is so now, and stays so. */
  async stays(step: string, figures: Figures, seconds: number): Promise<void> {
    await this.until(step, figures);
    const until = performance.now() + seconds * 1000;
    while (performance.now() < until) {
      const differing = differencesOf(figures, await this.look());
      if (differing.length > 0) throw differs(`${step}, for ${seconds} s`, differing);
      await pause(LOOK_MILLISECONDS);
    }
    this.say(`  … and stays so for ${seconds} s`);
  }

  /** What a client gets; only what is named of it must be so. */
  async asks(model: string, expected: Partial<Answer>): Promise<Answer> {
    const answer = await this.#deps.gateway.ask(model);
    this.answers.push(answer);
    const { status, retryAfterSeconds, shouldRetry, reason } = answer;
    const retry = retryAfterSeconds === null ? 'no Retry-After' : `Retry-After ${retryAfterSeconds}`;
    const more = status === 200 ? '' : `, ${retry}, x-should-retry ${shouldRetry ?? '-'}, reason ${reason ?? '-'}`;
    this.say(`  a client of ${model} gets ${status}${more}`);
    const differing = Object.entries(expected).filter(([name, value]) => answer[name as keyof Answer] !== value);
    if (differing.length > 0) {
      const lines = differing.map(
        ([name, value]) => `expected: ${name} is ${value}; seen: ${answer[name as keyof Answer]}`,
      );
      throw differs(`a request for ${model}`, lines);
    }
    return answer;
  }

  /** Until it, and its being awake, are so old that it may be put to sleep for another. */
  async untilIdle(model: string, seconds: number): Promise<void> {
    const until = performance.now() + SECONDS_MAX * 1000;
    for (;;) {
      const { claims } = await this.look();
      const found = claims.find(({ modelName }) => modelName === model)?.instances[0];
      const since = [found?.idleSince, found?.phaseSince].map((at) => (at ? Date.parse(at) : Number.NaN));
      if (since.every((at) => Date.now() - at > seconds * 1000)) return;
      if (performance.now() > until) throw new CliError(`${model} was not idle for ${seconds} s`);
      await pause(LOOK_MILLISECONDS);
    }
  }

  history(model: string): Promise<readonly ModelEvent[]> {
    return this.client.models.history(model).toArray();
  }

  async look(): Promise<SeenModels> {
    this.#deps.options.signal.throwIfAborted();
    for (const load of this.#loads) load.check();
    const [gpus, claims] = await Promise.all([
      this.admin.pools.gpus(POOL),
      this.client.models.list({ pool: POOL }).toArray(),
    ]);
    return { gpu: gpus[0], claims };
  }

  #tell(step: string, { gpu, claims }: SeenModels): void {
    const atSeconds = Number(((performance.now() - this.#began) / 1000).toFixed(1));
    const told = Object.fromEntries(claims.map((claim) => [claim.modelName, textOf(claim)]));
    this.seen.push({ step, atSeconds, gpu, claims: told });
    this.say(`${step} (${atSeconds} s)`);
    if (gpu !== undefined) this.say(indented(gpuBarsText([gpu], PLAIN)));
    for (const [model, text] of Object.entries(told)) this.say(`  ${model} ${text}`);
  }
}

const textOf = ({ phase, reason }: ModelClaim): string =>
  reason === null ? phase : `${phase}: ${reason.code}, ${reason.message}`;

const indented = (text: string): string => text.replaceAll(/^/gm, '  ');

const differs = (step: string, lines: readonly string[]): CliError =>
  new CliError([`${step}: it differs`, ...lines].join('\n  '));
