import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureSimulatedEngineImage } from '../../../infra/images/simulated-engine.mjs';
import { engine } from '../../../infra/setup/docker.mjs';
import { down } from '../../../src/cli/supervisor/down.js';
import { temporalAddress, urlsOf } from '../../../src/cli/supervisor/installation.js';
import { readInstallation } from '../../../src/cli/supervisor/read-installation.js';
import { readRunStatus } from '../../../src/cli/supervisor/run-status.js';
import { up } from '../../../src/cli/supervisor/up.js';
import { signal, waitForEnd } from '../../../src/platform/process-identity.js';
import { stateDir } from '../../../src/platform/state-dir.js';
import { Client } from '../../../src/sdk/index.js';
import { listContainers, removeContainers } from '../../support/docker.js';
import { freePort } from '../../support/process.js';
import { ensureBuilt } from './plant.js';

const GIB = 2 ** 30;
const CPUS = 16;
const HOST_PORTS = 200;

/** A whole `berth up` in a folder of its own: real containers, engines and GPUs that are simulated. */
export interface ModelsBerth {
  /** Tries again for a minute: a call of it outlives the kill of any process. */
  readonly api: Client;
  readonly gatewayUrl: string;
  readonly token: string;
  readonly node: string;
  readonly temporalAddress: string;
  readonly logsDir: string;
  /** SIGKILL; the supervisor starts it anew. */
  kill(part: 'node' | 'control-1'): Promise<void>;
  /** Containers of its node, engines and anchors. */
  containers(): ReturnType<typeof listContainers>;
  stop(): Promise<void>;
}

export interface ModelsBerthOptions {
  readonly gpus: number;
  readonly gpuMemoryBytes: number;
  /** That the node shares out; engines that are simulated take next to nothing of it. */
  readonly memoryBytes: number;
}

export async function startModelsBerth({
  gpus,
  gpuMemoryBytes,
  memoryBytes,
}: ModelsBerthOptions): Promise<ModelsBerth> {
  ensureBuilt();
  await ensureSimulatedEngineImage();
  const firstPort = await freePort();
  process.env['BERTH_PORT_RANGE'] = `${firstPort}-${Math.min(firstPort + HOST_PORTS, 65_535)}`;
  process.env['BERTH_ENGINE_LOOK_SECONDS'] = '1';
  const state = stateDir(mkdtempSync(join(tmpdir(), 'berth-bench-models-')));
  const flags = { cpus: CPUS, controlWorkers: 1, simulatedGpus: gpus, gpuMemoryBytes, memoryBytes };
  const program = join(import.meta.dirname, '../../../dist/berth.js');
  const outcome = await up({
    ...{ stateRoot: state.root, flags, wantsUsualPorts: false, timeoutSeconds: 180, onProgress: () => undefined },
    supervisorCommand: [process.execPath, program, 'supervise'],
  });
  if (outcome.kind === 'failed') {
    await down(state);
    throw new Error(outcome.problem);
  }
  const installation = readInstallation(state, {});
  const { api: baseUrl, gateway: gatewayUrl } = urlsOf(installation);
  const token = readFileSync(installation.secrets.bootstrapKeyFile, 'utf8').trim();
  const node = installation.config.node.name;
  return {
    api: new Client({ baseUrl, token, retries: { triesMax: 90, delayMillisecondsMax: 1_000 } }),
    ...{ gatewayUrl, token, node, temporalAddress: temporalAddress(installation), logsDir: state.logsDir },
    async kill(part) {
      const identity = readRunStatus(state)?.children.find(({ name }) => name === part)?.process;
      if (!identity) throw new Error(`${part} does not run`);
      signal(identity, 'SIGKILL');
      await waitForEnd(identity, 30);
    },
    containers: () => listContainers(`berth.node=${node}`),
    async stop() {
      await down(state);
      await removeContainers(`berth.node=${node}`); // only a run that failed leaves any
      rmSync(state.root, { recursive: true, force: true });
    },
  };
}

interface SimulatedGpu {
  readonly id: string;
  readonly memoryBytes: number;
  readonly checks: number;
  readonly excesses: number;
  readonly mostEntitledBytes: number;
  readonly violations: readonly unknown[];
}

/** What the simulated GPUs of all anchors say themselves. */
export async function auditGpus(berth: ModelsBerth): Promise<SimulatedGpu[]> {
  const anchors = (await berth.containers()).filter(
    ({ state, labels }) => state === 'running' && labels['berth.instance'] === undefined,
  );
  const audits = anchors.map(async ({ id }) => {
    const Cmd = ['simulated-gpu', 'audit'];
    const body = JSON.stringify({ Cmd, Tty: true, AttachStdout: true, AttachStderr: true });
    const { Id } = JSON.parse((await engine('POST', `/containers/${id}/exec`, { body })).text) as { Id: string };
    const { text } = await engine('POST', `/exec/${Id}/start`, { body: JSON.stringify({ Detach: false, Tty: true }) });
    return (JSON.parse(text) as { readonly gpus: readonly SimulatedGpu[] }).gpus;
  });
  return (await Promise.all(audits)).flat();
}

export const killContainer = (id: string): Promise<unknown> => engine('POST', `/containers/${id}/kill?signal=KILL`);

/** Engines that are simulated load nothing, and a claim names something. */
export async function weightsOf({ api }: ModelsBerth): Promise<string> {
  const { id } = await api.folders.create({ name: 'bench-weights' });
  await api.folders.putFile({ folder: id, path: 'config.json' }, Buffer.from('{}\n'));
  return `folder://${id}`;
}

export interface ChatAnswer {
  readonly status: number;
  readonly retryAfterSeconds: number | null;
  readonly mayRetry: boolean;
  /** The reason's code, else the error's; null where neither is told. */
  readonly reason: string | null;
}

export async function chat(berth: ModelsBerth, model: string, tokens = 1): Promise<ChatAnswer> {
  const response = await fetch(new URL('/v1/chat/completions', berth.gatewayUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${berth.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], max_tokens: tokens }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = (await response.json()) as {
    readonly error?: { readonly code?: string; readonly reason?: { readonly code?: string } };
  };
  const retryAfter = response.headers.get('retry-after');
  return {
    status: response.status,
    retryAfterSeconds: retryAfter === null ? null : Number(retryAfter),
    mayRetry: response.headers.get('x-should-retry') !== 'false',
    reason: body.error?.reason?.code ?? body.error?.code ?? null,
  };
}

export const gib = (count: number): number => Math.floor(count * GIB);
