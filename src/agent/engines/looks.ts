import type { MemberLook } from '../../contract/index.js';
import { type AnchorDevice, LABEL, readKernel, runKey } from '../kernel-container.js';
import { pause } from '../retry.js';
import type { EngineDeps } from './engine-deps.js';
import { ENGINE_LABEL, type FoundEngine, readEngine } from './found-engine.js';
import { type Device, lookAt, sightOf } from './look-at.js';

/** Tells the API what the engines of this node's members do: each so often, and of one member at once when it is asked. */
export interface Looks {
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly tell: (memberSessionId: string) => void;
}

/** Soon after the first cause, so that what comes with it is told together. */
const TOGETHER_MS = 20;
const AGAIN_MS = 1_000;
const AT_ONCE = 8;
const LOOKS_A_CALL = 64;

export interface LooksOptions {
  readonly everyMs: number;
  /** The ledger does not know it: stopped and removed. */
  readonly remove: (instanceId: string) => void;
}

export function createLooks(deps: () => EngineDeps, { everyMs, remove }: LooksOptions): Looks {
  const asked = new Set<string>();
  let wake: () => void = () => undefined;
  return {
    tell: (memberSessionId) => {
      asked.add(memberSessionId);
      wake();
    },
    run: async (signal) => {
      let dueMs = performance.now();
      while (!signal.aborted) {
        const isRound = performance.now() >= dueMs;
        if (isRound) dueMs = performance.now() + everyMs;
        const only = isRound ? undefined : new Set(asked);
        asked.clear();
        try {
          for (const instanceId of await lookOnce(deps(), { everySeconds: everyMs / 1000, only }, signal))
            remove(instanceId);
        } catch (error) {
          if (signal.aborted) return;
          for (const member of only ?? []) asked.add(member);
          deps().log.warn({ err: error }, 'the API was not told of the engines; it will be');
          await pause(AGAIN_MS, signal);
        }
        if (asked.size === 0) await Promise.race([woken(), pause(Math.max(0, dueMs - performance.now()), signal)]);
        await pause(TOGETHER_MS, signal);
      }
    },
  };

  function woken(): Promise<void> {
    return new Promise((resolve) => {
      wake = resolve;
    });
  }
}

interface Member {
  readonly sessionId: string;
  anchorKey: string | undefined;
  devices: readonly AnchorDevice[];
  readonly engines: FoundEngine[];
  readonly unknown: string[];
}

/** Answers which engines the ledger does not know. A node without members asks nothing of the API. */
async function lookOnce(
  deps: EngineDeps,
  { everySeconds, only }: { readonly everySeconds: number; readonly only: ReadonlySet<string> | undefined },
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (only?.size === 0) return [];
  const members = (await listMembers(deps)).filter(({ sessionId }) => only === undefined || only.has(sessionId));
  if (members.length === 0) return [];
  const isReal =
    deps.gpuMemory !== undefined && members.some(({ devices }) => devices.some((device) => !device.simulated));
  const [usable, apps, cached] = await Promise.all([
    isReal ? deps.gpuMemory?.usable().catch(() => undefined) : undefined,
    isReal ? (deps.gpuMemory?.apps().catch(() => null) ?? null) : null,
    deps.artifacts.list(),
  ]);
  const at = new Date().toISOString();
  const looks: MemberLook[] = [];
  for (const { sessionId, anchorKey, devices, engines, unknown } of members) {
    const sight = { ...(await sightOf(deps, anchorKey)), apps };
    const seen = [];
    for (let first = 0; first < engines.length; first += AT_ONCE) {
      seen.push(...(await Promise.all(engines.slice(first, first + AT_ONCE).map((one) => lookAt(deps, one, sight)))));
    }
    looks.push({
      memberSessionId: sessionId,
      at,
      everySeconds,
      engines: seen,
      unknownEngines: unknown,
      devices: devices.map((device) => usableOf(device, usable)),
      cachedArtifacts: cached.slice(0, 1000),
    });
  }
  const remove: string[] = [];
  for (let first = 0; first < looks.length; first += LOOKS_A_CALL) {
    remove.push(...(await deps.api.memberLooks(looks.slice(first, first + LOOKS_A_CALL), signal)));
  }
  return remove;
}

/** A simulated GPU has no driver that keeps some of it. */
function usableOf(
  { id, memoryBytes, simulated }: AnchorDevice,
  usable: ReadonlyMap<string, number> | undefined,
): Device {
  return { id, usableBytes: simulated ? memoryBytes : (usable?.get(id) ?? null) };
}

/** Anchors that run, and members of which only engines are left. */
async function listMembers({ containers, node }: EngineDeps): Promise<readonly Member[]> {
  const anchors = await containers.list({ [LABEL.node]: node, [LABEL.anchor]: '' });
  const engines = await containers.list({ [LABEL.node]: node, [ENGINE_LABEL.instance]: '' });
  const members = new Map<string, Member>();
  const memberOf = (sessionId: string): Member => {
    const member = members.get(sessionId) ?? { sessionId, anchorKey: undefined, devices: [], engines: [], unknown: [] };
    members.set(sessionId, member);
    return member;
  };
  for (const kernel of anchors.flatMap((container) => readKernel(container) ?? [])) {
    if (kernel.state !== 'running') continue;
    Object.assign(memberOf(kernel.sessionId), { anchorKey: runKey(kernel), devices: kernel.anchorDevices ?? [] });
  }
  for (const container of engines) {
    const engine = readEngine(container);
    if (engine !== undefined) memberOf(engine.memberSessionId).engines.push(engine);
    else {
      const sessionId = container.labels[ENGINE_LABEL.member];
      if (sessionId !== undefined) memberOf(sessionId).unknown.push(container.name);
    }
  }
  return [...members.values()];
}
