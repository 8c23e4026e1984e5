import { Agent } from 'undici';
import type { LimitResult, OrderResult } from '../../contract/index.js';
import { createTurns, type Turns } from '../turns.js';
import { createCrashWatch } from './crash-watch.js';
import type { EngineDeps } from './engine-deps.js';
import { createEngineRecords } from './engine-records.js';
import { anchorName, listEngines } from './found-engine.js';
import { createKeeperLink, type KeeperLink } from './keeper-link.js';
import { createLooks } from './looks.js';
import { createSetLimits, type LimitWrites } from './set-limits.js';
import { sleepEngine } from './sleep-engine.js';
import { found, type OrderProgress, startEngine } from './start-engine.js';
import { removeEngine, stopEngine, stopping } from './stop-engine.js';
import { wakeEngine } from './wake-engine.js';

export interface EngineSettings {
  /** 10 s when unset. */
  readonly lookEveryMs?: number | undefined;
  /** A second of the pauses before restarts; 1000 when unset. */
  readonly secondMs?: number | undefined;
}

export interface InstanceOrder {
  readonly instanceId: string;
}

/** The engines of this node's members. Each order may be given twice, also while its first run is under way. */
export interface EngineManager {
  readonly setLimits: (order: LimitWrites, signal: AbortSignal) => Promise<readonly LimitResult[]>;
  readonly startEngine: (order: InstanceOrder, progress: OrderProgress) => Promise<OrderResult>;
  readonly sleepEngine: (order: InstanceOrder, progress: OrderProgress) => Promise<OrderResult>;
  readonly wakeEngine: (
    order: InstanceOrder & { readonly plannedBytes: number },
    progress: OrderProgress,
  ) => Promise<OrderResult>;
  readonly stopEngine: (order: InstanceOrder & { readonly drainSeconds: number }) => Promise<OrderResult>;
  /** The member goes: its engines first. By the run of its anchor. */
  readonly removeOf: (anchorKey: string, graceSeconds: number) => Promise<void>;
  /** Looks and crashes, until aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
}

const LOOK_MS_DEFAULT = 10_000;

type Given = Omit<EngineDeps, 'records' | 'keeper' | 'dispatcher' | 'tell' | 'secondMs'>;

export function createEngineManager(given: Given, settings: EngineSettings = {}): EngineManager {
  const keepers = createKeepers(given.containers);
  const dispatcher = new Agent({ connect: { timeout: 2_000 }, pipelining: 1 });
  const looks = createLooks(() => deps, {
    everyMs: settings.lookEveryMs ?? LOOK_MS_DEFAULT,
    remove: (instanceId) => void removeUnknown(deps, orders, instanceId),
  });
  const deps: EngineDeps = {
    ...given,
    records: createEngineRecords(),
    dispatcher,
    tell: looks.tell,
    secondMs: settings.secondMs ?? 1000,
    keeper: keepers.of,
  };
  const turns = createTurns(() => new EngineStopped('the engine is being stopped'));
  const orders = createOrders(deps, turns);
  const crashes = createCrashWatch(deps);
  return {
    ...orders,
    setLimits: createSetLimits(deps),
    removeOf: async (anchorKey, graceSeconds) => {
      await removeOf(deps, turns, { anchorKey, graceSeconds });
      keepers.close(anchorKey);
    },
    run: async (signal) => {
      await Promise.all([crashes.run(signal), looks.run(signal)]);
    },
    close: async () => {
      for (const record of deps.records.all()) clearTimeout(record.restart);
      keepers.closeAll();
      await dispatcher.destroy();
    },
  };
}

function createKeepers(containers: Given['containers']) {
  const links = new Map<string, KeeperLink>();
  return {
    of: (anchorKey: string): KeeperLink => {
      const link = links.get(anchorKey) ?? createKeeperLink(containers, anchorName(anchorKey));
      links.set(anchorKey, link);
      return link;
    },
    close: (anchorKey: string): void => {
      links.get(anchorKey)?.close();
      links.delete(anchorKey);
    },
    closeAll: (): void => {
      for (const link of links.values()) link.close();
    },
  };
}

/** Why an order ended: a stop of its engine came. */
class EngineStopped extends Error {
  override readonly name = 'EngineStopped';
}

type Orders = Pick<EngineManager, 'startEngine' | 'sleepEngine' | 'wakeEngine' | 'stopEngine'>;

function createOrders(deps: EngineDeps, turns: Turns): Orders {
  const inTurn = (
    { instanceId }: InstanceOrder,
    { signal }: OrderProgress,
    step: (until: AbortSignal) => Promise<OrderResult>,
  ): Promise<OrderResult> =>
    turns.run(instanceId, signal, step).catch((error: unknown) => {
      if (error instanceof EngineStopped) return { outcome: 'gone' }; // a stop has come over it
      throw error;
    });
  return {
    startEngine: (order, progress) =>
      inTurn(order, progress, (signal) => startEngine(deps, order.instanceId, { ...progress, signal })),
    sleepEngine: (order, progress) =>
      inTurn(order, progress, async (signal) => sleepEngine(deps, await found(deps, order.instanceId), signal)),
    wakeEngine: (order, progress) =>
      inTurn(order, progress, async (signal) =>
        wakeEngine(deps, await found(deps, order.instanceId), { plannedBytes: order.plannedBytes, signal }),
      ),
    stopEngine: (order) => {
      stopping(deps, order.instanceId);
      return turns.end(order.instanceId, async () => stopEngine(deps, await found(deps, order.instanceId), order));
    },
  };
}

async function removeUnknown(deps: EngineDeps, orders: Orders, instanceId: string): Promise<void> {
  try {
    if ((await found(deps, instanceId)) === undefined) return;
    deps.log.info({ instanceId }, 'an engine that the ledger does not know is removed');
    await orders.stopEngine({ instanceId, drainSeconds: 0 });
  } catch (error) {
    deps.log.warn({ err: error, instanceId }, 'an engine could not be removed; the next look names it again');
  }
}

async function removeOf(
  deps: EngineDeps,
  turns: Turns,
  { anchorKey, graceSeconds }: { readonly anchorKey: string; readonly graceSeconds: number },
): Promise<void> {
  const engines = (await listEngines(deps.containers, deps.node)).filter((engine) => engine.anchorKey === anchorKey);
  await Promise.all(
    engines.map((engine) => {
      stopping(deps, engine.instanceId);
      return turns.end(engine.instanceId, () => removeEngine(deps, engine, graceSeconds));
    }),
  );
}
