import { setTimeout as pause } from 'node:timers/promises';
import type { ApplyDeploymentInput, Deployment } from '../../contract/index.js';
import { type Client, NotFoundError } from '../../sdk/index.js';
import { CliError } from '../cli-error.js';
import type { DemoOptions } from './demo-options.js';
import { type EndpointAnswer, ServeClient } from './serve-client.js';
import { until } from './watch-use.js';

export const DEPLOYMENT = 'bob-chat';
const LOOK_MILLISECONDS = 100;
const SECONDS_MAX = 60;

export interface ServeStageDeps {
  readonly options: DemoOptions;
  readonly bob: Client;
  readonly project: string;
  readonly gatewayUrl: string;
}

/** What has to be so, and how it is said when it is not. */
export interface Wanted {
  readonly says: string;
  readonly holds: (seen: Deployment) => boolean;
  /** Never so while it is waited for: a serving replica that was taken. */
  readonly never?: (seen: Deployment) => boolean;
}

/** Looks at Bob's deployment until it is as it has to be; says it, and keeps it for the recording. */
export class ServeStage {
  readonly seen: object[] = [];
  readonly figures: Record<string, number> = {};
  readonly #deps: ServeStageDeps;
  readonly #began = performance.now();

  constructor(deps: ServeStageDeps) {
    this.#deps = deps;
  }

  get bob(): Client {
    return this.#deps.bob;
  }
  say(text: string): void {
    this.#deps.options.say(text);
  }
  /** Measured: said, kept, and refused above `max`. */
  figure(name: string, value: number, { unit, max }: { readonly unit: 'ms' | 's'; readonly max?: number }): void {
    const rounded = unit === 'ms' ? Math.round(value) : Number(value.toFixed(2));
    this.figures[`${name} (${unit})`] = rounded;
    this.say(`  ${name}: ${rounded} ${unit}${max === undefined ? '' : ` (at most ${max} ${unit})`}`);
    if (max !== undefined && !(value <= max))
      throw new CliError(`expected: ${name} at most ${max} ${unit}; seen: ${value}`);
  }

  async apply(wish: Omit<ApplyDeploymentInput, 'project' | 'group'>): Promise<Deployment> {
    const { options, project } = this.#deps;
    return this.bob.deployments.apply(DEPLOYMENT, { ...wish, project, group: options.group });
  }

  /** Of the endpoint, as a client without anything of Berth but a token. */
  async endpoint(): Promise<ServeClient> {
    const { token } = await this.bob.deployments.createToken(DEPLOYMENT, { name: 'demo', expiresInSeconds: 3600 });
    const url = new URL(`/deployments/${DEPLOYMENT}`, this.#deps.gatewayUrl).href;
    return new ServeClient(url, { token, model: DEPLOYMENT });
  }

  async until(step: string, wanted: Wanted, secondsMax = SECONDS_MAX): Promise<Deployment> {
    const until = performance.now() + secondsMax * 1000;
    for (;;) {
      this.#deps.options.signal.throwIfAborted();
      const seen = await this.bob.deployments.get(DEPLOYMENT);
      if (wanted.never?.(seen) === true) throw this.#differs(step, `never otherwise, ${wanted.says}`, seen);
      if (wanted.holds(seen)) {
        this.#tell(step, seen);
        return seen;
      }
      if (performance.now() > until) throw this.#differs(step, wanted.says, seen);
      await pause(LOOK_MILLISECONDS);
    }
  }

  /** What a client gets now; 503 must name when to come again. */
  async asks(client: ServeClient, status: 200 | 503): Promise<EndpointAnswer> {
    const answer = await client.ask();
    const { retryAfterSeconds, says } = answer;
    const more = answer.status === 200 ? '' : `, Retry-After ${retryAfterSeconds ?? 'missing'}: ${says}`;
    this.say(`  a client gets ${answer.status}${more}`);
    if (answer.status !== status) throw new CliError(`expected: ${status}; seen: ${answer.status} ${says}`);
    if (status === 503 && retryAfterSeconds === null) throw new CliError('expected: Retry-After; seen: none');
    return answer;
  }

  #tell(step: string, deployment: Deployment): void {
    const atSeconds = Number(((performance.now() - this.#began) / 1000).toFixed(1));
    const { state, replicasWanted, replicasLive, replicasServing, currentRevision, weights } = deployment;
    this.seen.push({ step, atSeconds, state, replicasWanted, replicasLive, replicasServing, currentRevision, weights });
    this.say(`${step} (${atSeconds} s)`);
    this.say(`  ${textOf(deployment)}`);
  }

  #differs(step: string, expected: string, seen: Deployment): CliError {
    const replicas = seen.replicas.map(
      ({ name, route, health, message }) => `${name} ${route} ${health} ${message ?? ''}`,
    );
    return new CliError(
      [`${step}: it differs`, `expected: ${expected}`, `seen: ${textOf(seen)}`, seen.message, ...replicas].join('\n  '),
    );
  }
}

const textOf = ({ state, replicasWanted, replicasLive, replicasServing, replicas }: Deployment): string => {
  const routes = replicas
    .filter(({ route }) => route !== 'ENDED')
    .map(({ revision, route }) => `r${revision} ${route}`);
  return `${state}: wanted ${replicasWanted}, live ${replicasLive}, serving ${replicasServing} (${routes.join(', ') || 'no replica'})`;
};

/** Safe at any point: what is not there is gone already. */
export async function removeService({ deployments }: Client): Promise<void> {
  await deployments.remove(DEPLOYMENT).catch(ignoreMissing);
  await until('the deployment has ended', async () => {
    const found = await deployments.get(DEPLOYMENT).catch(ignoreMissing);
    return found === undefined || found.state === 'ENDED' ? true : undefined;
  });
}

export const ignoreMissing = (error: unknown): undefined => {
  if (!(error instanceof NotFoundError)) throw error;
};
