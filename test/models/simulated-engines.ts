import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureSimulatedEngineImage, SIMULATED_ENGINE_IMAGE } from '../../infra/images/simulated-engine.mjs';
import { engine as docker } from '../../infra/setup/docker.mjs';

export const GIB = 2 ** 30;

/** kvcached's three numbers. */
export interface SegmentNumbers {
  readonly limit: number;
  readonly used: number;
  readonly preallocated: number;
}

export interface GpuAudit {
  readonly id: string;
  readonly excesses: number;
  readonly mostEntitledBytes: number;
  readonly violations: readonly { readonly kind: string; readonly cause: string; readonly bytes: number }[];
  readonly engines: Readonly<
    Record<string, { readonly model: string; readonly mappedBytes: number; readonly state: string }>
  >;
}

export interface StartedEngine {
  readonly url: string;
  readonly stop: () => Promise<number>;
  readonly kill: () => Promise<void>;
  /** Its exit code. */
  readonly ended: () => Promise<number>;
  readonly log: () => Promise<string>;
}

export interface EngineWishes {
  readonly name: string;
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly port?: number;
  /** false: answers before it is ready, or after it has ended. */
  readonly untilReady?: boolean;
}

async function call(method: string, path: string, body?: unknown): Promise<string> {
  const options = { body: body === undefined ? undefined : JSON.stringify(body), timeoutSeconds: 60 };
  const { status, text } = await docker(method, path, options);
  if (status >= 400 && status !== 404) throw new Error(`${method} ${path}: ${status} ${text}`);
  return text;
}

/** One member without Berth: an anchor whose /dev/shm the engines share, on a network of its own. `close` removes all of it. */
export async function startMember(gpus: readonly { readonly id: string; readonly memoryBytes: number }[]) {
  await ensureSimulatedEngineImage();
  const member = `berth-engines-${randomBytes(4).toString('hex')}`;
  const made: string[] = [];
  await call('POST', '/networks/create', { Name: member });

  async function create(
    name: string,
    options: { readonly HostConfig: object } & Record<string, unknown>,
  ): Promise<string> {
    const HostConfig = { NetworkMode: member, ...options.HostConfig };
    const body = { Image: SIMULATED_ENGINE_IMAGE, ...options, HostConfig };
    const { Id } = JSON.parse(await call('POST', `/containers/create?name=${member}-${made.length}-${name}`, body)) as {
      Id: string;
    };
    made.push(Id);
    await call('POST', `/containers/${Id}/start`);
    return Id;
  }

  const anchor = await create('anchor', { Cmd: ['sleep', '600'], HostConfig: { IpcMode: 'shareable', Init: true } });

  /** Runs a program beside the anchor; what it printed. */
  async function exec(...Cmd: string[]): Promise<string> {
    const asked = await call('POST', `/containers/${anchor}/exec`, {
      Cmd,
      Tty: true,
      AttachStdout: true,
      AttachStderr: true,
    });
    const { Id } = JSON.parse(asked) as { Id: string };
    return call('POST', `/exec/${Id}/start`, { Detach: false, Tty: true });
  }

  const python = (code: string): Promise<string> =>
    exec('python3', '-c', `import json\nfrom simulated_engine.segment import Segment\n${code}`);

  return {
    exec,
    /** The numbers, or null where there is no segment of that name. */
    segment: async (name: string): Promise<SegmentNumbers | null> => {
      const text = await python(`print(json.dumps(Segment('${name}').read()))`);
      const numbers = JSON.parse(text) as [number, number, number] | null;
      return numbers && { limit: numbers[0], used: numbers[1], preallocated: numbers[2] };
    },
    /** Creates the segment where it is not there; use stays. */
    setLimit: (name: string, bytes: number): Promise<string> =>
      python(`Segment('${name}').change(lambda f: (${bytes}, f[1] if f else 0, f[2] if f else 0), create=True)`),
    audit: async (): Promise<GpuAudit> => {
      const { gpus: all } = JSON.parse(await exec('simulated-gpu', 'audit')) as { gpus: GpuAudit[] };
      if (all[0] === undefined) throw new Error('no simulated GPU is there');
      return all[0];
    },
    start: (wishes: EngineWishes): Promise<StartedEngine> => startEngine({ create, anchor, gpus }, wishes),
    close: async (): Promise<void> => {
      await Promise.all(made.map((id) => call('DELETE', `/containers/${id}?force=true&v=true`)));
      await call('DELETE', `/networks/${member}`);
    },
  };
}

export type Member = Awaited<ReturnType<typeof startMember>>;

interface Place {
  readonly create: (
    name: string,
    options: { readonly HostConfig: object } & Record<string, unknown>,
  ) => Promise<string>;
  readonly anchor: string;
  readonly gpus: readonly { readonly id: string; readonly memoryBytes: number }[];
}

async function startEngine({ create, anchor, gpus }: Place, wishes: EngineWishes): Promise<StartedEngine> {
  const { name, args = [], environment = {}, port = 8000, untilReady = true } = wishes;
  const vllm = ['vllm', 'serve', 'model', '--enable-sleep-mode', '--host', '0.0.0.0', '--port', String(port)];
  const Env = Object.entries({
    ENABLE_KVCACHED: 'true',
    KVCACHED_AUTOPATCH: '1',
    KVCACHED_IPC_NAME: `kv-${name}`,
    VLLM_SERVER_DEV_MODE: '1',
    BERTH_SIMULATED_GPUS: JSON.stringify(gpus),
    ...environment,
  }).map(([key, value]) => `${key}=${value}`);
  const id = await create(name, {
    Cmd: [...(wishes.command ?? vllm), '--served-model-name', name, '--simulated-start-seconds', '0.1', ...args],
    Env,
    ExposedPorts: { [`${port}/tcp`]: {} },
    HostConfig: {
      IpcMode: `container:${anchor}`,
      PortBindings: { [`${port}/tcp`]: [{ HostIp: '127.0.0.1', HostPort: '' }] },
    },
  });
  const ended = async (): Promise<number> => {
    const { StatusCode } = JSON.parse(await call('POST', `/containers/${id}/wait`)) as { StatusCode: number };
    return StatusCode;
  };
  const log = () => call('GET', `/containers/${id}/logs?stdout=true&stderr=true`);
  const url = untilReady ? await readyUrl(id, port, log) : '';
  return {
    url,
    ended,
    log,
    kill: async () => {
      await call('POST', `/containers/${id}/kill`);
      await ended();
    },
    stop: async () => {
      await call('POST', `/containers/${id}/stop?t=20`);
      return ended();
    },
  };
}

interface Inspected {
  readonly State: { readonly Running: boolean };
  readonly NetworkSettings: {
    readonly Ports: Readonly<Record<string, readonly { readonly HostPort: string }[] | null>>;
  };
}

async function readyUrl(id: string, port: number, log: () => Promise<string>): Promise<string> {
  for (let tries = 0; tries < 300; tries++) {
    const { State, NetworkSettings } = JSON.parse(await call('GET', `/containers/${id}/json`)) as Inspected;
    if (!State.Running) break;
    const url = `http://127.0.0.1:${NetworkSettings.Ports[`${port}/tcp`]?.[0]?.HostPort}`;
    const isReady = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return url;
    await sleep(100);
  }
  throw new Error(`the simulated engine is not ready: ${await log()}`);
}

/** Waits for what `look` finds, at most 10 s. */
export async function until<T>(look: () => Promise<T>, isThere: (found: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries++) {
    const found = await look();
    if (isThere(found) || tries >= 100) return found;
    await sleep(100);
  }
}

/** A sample of the metrics by the beginning of its line; NaN when there is none. */
export async function sample(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name}{`));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}

export const post = (url: string, path: string, body?: unknown): Promise<Response> =>
  fetch(url + path, { method: 'POST', ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
