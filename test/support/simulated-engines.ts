import { Context } from '@temporalio/activity';
import type { EngineActivities } from '../../activities/node/engine-activities.js';
import type { LimitResult, OrderResult } from '../../src/contract/index.js';

export type EngineStep = keyof EngineActivities;

export interface SimulatedEngine {
  limitBytes: number | null;
  kvUsedBytes: number;
  /** `none`: there is a segment, and no engine yet. */
  state: 'none' | 'awake' | 'asleep';
  /** Requests in flight: it is not put to sleep. */
  running: number;
}

/** Engines and segments in memory instead of containers, for the workflows' tests. What is written is in force at once. */
export interface SimulatedEngines {
  readonly activities: EngineActivities;
  readonly engines: Map<string, SimulatedEngine>;
  /** `lower a 5 (turn 7)`, `wake a`, … in the order in which they were done. */
  readonly log: string[];
  readonly behaviour: {
    /** The next call of this step dies: before it did anything, or after it did all. */
    breakStep?: { readonly step: EngineStep; readonly when: 'before' | 'after' } | undefined;
    /** Answers to steps that are not carried out. */
    answer?: Partial<Record<EngineStep, OrderResult>>;
    /** Beats and does nothing until it is cancelled. */
    hang?: EngineStep | undefined;
    /** Takes limits and never answers. */
    silentLimits?: boolean;
    /** Uses more than its lower limit: the limit is written, and not yet kept to. */
    usesBytes?: Readonly<Record<string, number>>;
    residueBytes?: number;
    /** What was asked of the agent and goes wrong after each other. */
    tookMs?: number;
  };
  /** Runs after each write, with all engines: for what must hold at every instant. */
  onChange: (engines: ReadonlyMap<string, SimulatedEngine>) => void;
}

export function simulatedEngines(): SimulatedEngines {
  const engines = new Map<string, SimulatedEngine>();
  const log: string[] = [];
  const behaviour: SimulatedEngines['behaviour'] = {};
  const engineOf = (instanceId: string): SimulatedEngine => {
    const found = engines.get(instanceId) ?? { limitBytes: null, kvUsedBytes: 0, state: 'none', running: 0 };
    engines.set(instanceId, found);
    return found;
  };
  const breaking = (step: EngineStep, when: 'before' | 'after') => {
    if (behaviour.breakStep?.step !== step || behaviour.breakStep.when !== when) return;
    behaviour.breakStep = undefined;
    throw new Error(`${step} died ${when} its effect`);
  };
  const simulated: SimulatedEngines = {
    activities: {} as EngineActivities,
    engines,
    log,
    behaviour,
    onChange: () => undefined,
  };
  const step = async <Result>(name: EngineStep, act: () => Result): Promise<Result> => {
    breaking(name, 'before');
    if (behaviour.hang === name) {
      log.push(`${name} hangs`);
      await untilCancelled();
    }
    const result = (behaviour.answer?.[name] as Result | undefined) ?? act();
    simulated.onChange(engines);
    breaking(name, 'after');
    return result;
  };
  const ready = (instanceId: string, word: string) => (): OrderResult => {
    const engine = engineOf(instanceId);
    if (engine.state !== 'awake') log.push(`${word} ${instanceId}`);
    engine.state = 'awake';
    const { limitBytes, kvUsedBytes } = engine;
    return { outcome: 'ready', limitBytes, kvUsedBytes, host: '127.0.0.1', port: 8000, tookMs: 5 };
  };
  const sleep = (instanceId: string) => (): OrderResult => {
    const engine = engineOf(instanceId);
    if (engine.running > 0) return { outcome: 'busy', running: engine.running, waiting: 0 };
    if (engine.state !== 'asleep') log.push(`sleep ${instanceId}`);
    engine.state = 'asleep';
    engine.kvUsedBytes = 0;
    return { outcome: 'asleep', residueBytes: behaviour.residueBytes ?? null, hostBytes: null, tookMs: 5 };
  };
  const stop = (instanceId: string) => (): OrderResult => {
    if (engines.delete(instanceId)) log.push(`stop ${instanceId}`);
    return { outcome: 'gone' };
  };
  Object.assign(simulated.activities, {
    async setLimits({ writes, stage, turn }) {
      if (behaviour.silentLimits === true) await new Promise(() => undefined);
      return step('setLimits', () =>
        writes.map(({ instanceId, toBytes }): LimitResult => {
          const engine = engineOf(instanceId);
          log.push(`${stage} ${instanceId} ${toBytes} (turn ${turn})`);
          engine.limitBytes = toBytes;
          engine.kvUsedBytes = behaviour.usesBytes?.[instanceId] ?? Math.min(engine.kvUsedBytes, toBytes);
          return { instanceId, limitBytes: toBytes, kvUsedBytes: engine.kvUsedBytes };
        }),
      );
    },
    startEngine: ({ instanceId }) => step('startEngine', ready(instanceId, 'start')),
    wakeEngine: ({ instanceId }) => step('wakeEngine', ready(instanceId, 'wake')),
    sleepEngine: ({ instanceId }) => step('sleepEngine', sleep(instanceId)),
    stopEngine: ({ instanceId }) => step('stopEngine', stop(instanceId)),
  } satisfies EngineActivities);
  return simulated;
}

async function untilCancelled(): Promise<void> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), 100);
  try {
    await context.cancelled;
  } finally {
    clearInterval(beat);
  }
}
