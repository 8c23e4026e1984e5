import type { EndOrder, HoldOrder, Placed, Plan, SessionId, StopOrder, Waiting } from '../../src/contract/index.js';
import type { Committed } from '../../src/store/store.js';
import { emptyPlan, type Ledger, openPass } from './ledger.js';
import { rowOf } from './upkeep.js';

/** Commits a plan of these parts, as a pass would. `between` runs after the plan was made. */
export async function commit(
  { store }: Ledger,
  parts: Partial<Plan>,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Committed> {
  const pass = await openPass(store);
  try {
    const plan = emptyPlan(pass, parts);
    await between();
    return await pass.commit(plan);
  } finally {
    await pass.close();
  }
}

export async function stopOrder(
  ledger: Ledger,
  sessionId: SessionId,
  change: Partial<StopOrder> = {},
): Promise<StopOrder> {
  const { version, attempt } = await rowOf(ledger, sessionId);
  return {
    sessionId,
    version,
    attempt,
    cause: 'preempted',
    forSessionId: null,
    then: 'requeue',
    graceSeconds: 10,
    breaksMinRuntime: false,
    message: 'alice needs its room',
    ...change,
  };
}

/** Its first kernel is to have the device `gpu-0` of n1. */
export async function holdOrder(
  { store, ...ledger }: Ledger,
  sessionId: SessionId,
  victims: SessionId[],
): Promise<HoldOrder> {
  const session = (await store.planning.snapshot('default'))?.pending.find((one) => one.id === sessionId);
  const { version } = await rowOf({ store, ...ledger }, sessionId);
  const kernels = (session?.kernels ?? []).map(({ id, slots }) => ({
    kernelId: id,
    node: 'n1',
    deviceIds: ['gpu-0'],
    slots,
  }));
  return { sessionId, version, victims, kernels };
}
export const placedOf = ({ sessionId, version, kernels }: HoldOrder): Placed => ({
  sessionId,
  version,
  kernels,
  explanation: 'on its held room',
});

export async function endOrder(
  ledger: Ledger,
  sessionId: SessionId,
  change: Partial<EndOrder> = {},
): Promise<EndOrder> {
  const { version } = await rowOf(ledger, sessionId);
  return { sessionId, version, state: 'CANCELLED', cause: 'max-wait', message: 'it waited for too long', ...change };
}

export async function waitingOf(ledger: Ledger, sessionId: SessionId, change: Partial<Waiting> = {}): Promise<Waiting> {
  const { version } = await rowOf(ledger, sessionId);
  return {
    sessionId,
    version,
    reason: 'insufficient_capacity',
    message: 'needs 1 GPU, 0 are free',
    blockers: [],
    violations: [],
    nodes: null,
    nearest: null,
    expectedStart: { at: null, basis: 'not worked out' },
    decay: null,
    ...change,
  };
}
