import type { Snapshot, SnapshotGuarantee, SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';
import { protectedUntilMs } from '../lifecycle/protection.js';
import { type Demand, demandOf } from './demand.js';
import { guaranteeKey, type Holder, holderOf } from './guarantee-holder.js';
import { msOf } from './moments.js';
import { devicesOf } from './victims.js';

/**
 * What projects, and deployments, are guaranteed (each a *holder*), and what stands against it. Work is *firm* against a guarantee when it cannot be gone
 * within its `returnSeconds`: it may not be stopped, or its minimum runtime and grace take longer. Firm work of others
 * never takes GPUs that a guarantee still needs; all other work may, and gives them back.
 */
export interface GuaranteeBook {
  readonly guarantees: ReadonlyMap<Holder, SnapshotGuarantee>;
  /** Healthy whole GPUs of READY nodes. */
  readonly gpuCount: number;
  /** A share takes a GPU from those that want it whole; not where all shares lie on hardware instances. */
  readonly sharesTakeGpus: boolean;
  readonly levels: readonly GuaranteeLevel[];
  /** GPUs of each holder: what it has and what it was promised, without what is being left. */
  readonly use: Map<Holder, number>;
  readonly promised: Map<string, Promised>;
}

/** All guarantees that have to be kept within `returnSeconds`, and the GPUs of each holder's work that is firm against them. */
export interface GuaranteeLevel {
  readonly returnSeconds: number;
  readonly guaranteed: ReadonlyMap<Holder, number>;
  readonly firm: Map<Holder, number>;
}

/** Room of a session that does not run yet. */
interface Promised {
  readonly holder: Holder;
  readonly gpus: number;
  readonly firmness: Firmness;
}

export type Firmness = Pick<SnapshotPending, 'preemptible' | 'minRuntimeSeconds' | 'gracePeriodSeconds'>;

/** Of a hold of which nobody knows who waits for it. */
const UNKNOWN: Firmness = { preemptible: false, minRuntimeSeconds: 0, gracePeriodSeconds: 0 };

/** null where nothing is guaranteed. Held room is its holder's from the start: who comes first may not count on it. */
export function guaranteeBook(
  base: Pick<Snapshot, 'nodes' | 'running' | 'guarantees' | 'holds'>,
  nowMs: number,
): GuaranteeBook | null {
  const { guarantees } = base;
  if (guarantees.length === 0) return null;
  const open = base.nodes.filter(({ state }) => state === 'READY');
  const healthy = open.flatMap(({ devices }) => devices.filter((device) => device.healthy));
  const whole = healthy.filter(({ sharing }) => sharing !== 'mig');
  const seconds = [...new Set(guarantees.map(({ returnSeconds }) => returnSeconds))].toSorted((a, b) => a - b);
  const book: GuaranteeBook = {
    guarantees: new Map(guarantees.map((guarantee) => [guaranteeKey(guarantee), guarantee])),
    gpuCount: whole.length,
    sharesTakeGpus: whole.length === healthy.length,
    levels: seconds.map((returnSeconds) => levelOf(guarantees, returnSeconds)),
    use: new Map(),
    promised: new Map(),
  };
  const openNames = new Set(open.map(({ name }) => name));
  for (const session of base.running) countRunning(book, session, { openNames, nowMs });
  for (const { sessionId, kernels, waiter } of base.holds) {
    const holder = waiter === undefined ? '' : holderOf(book, waiter);
    promise(book, sessionId, { holder, gpus: devicesOf({ kernels }), firmness: waiter ?? UNKNOWN });
  }
  return book;
}

const levelOf = (guarantees: readonly SnapshotGuarantee[], returnSeconds: number): GuaranteeLevel => ({
  returnSeconds,
  guaranteed: new Map(
    guarantees
      .filter((guarantee) => guarantee.returnSeconds <= returnSeconds)
      .map((guarantee) => [guaranteeKey(guarantee), guarantee.gpuCount]),
  ),
  firm: new Map(),
});

/** Firm work on a closed node takes nothing of what the READY ones have. */
function countRunning(
  book: GuaranteeBook,
  session: SnapshotRunning,
  { openNames, nowMs }: { readonly openNames: ReadonlySet<string>; readonly nowMs: number },
): void {
  const { kernels } = session;
  const holder = holderOf(book, session);
  if (session.goneBy === null) add(book.use, holder, devicesOf(session));
  const gpus = devicesOf({ kernels: kernels.filter(({ node }) => openNames.has(node)) });
  const takesSeconds = (goneMs(session, nowMs) - nowMs) / 1000;
  for (const { firm, returnSeconds } of book.levels) if (takesSeconds > returnSeconds) add(firm, holder, gpus);
}

/** When it is gone if it has to leave; never for one that may not be stopped. While it starts, as if it started now. */
function goneMs(session: SnapshotRunning, nowMs: number): number {
  if (session.goneBy !== null) return msOf(session.goneBy);
  if (!session.preemptible) return Number.POSITIVE_INFINITY;
  const protectedMs = protectedUntilMs(session) ?? nowMs + session.minRuntimeSeconds * 1000;
  return Math.max(nowMs, protectedMs) + session.gracePeriodSeconds * 1000;
}

export const isFirm = (
  { preemptible, minRuntimeSeconds, gracePeriodSeconds }: Firmness,
  { returnSeconds }: GuaranteeLevel,
): boolean => !preemptible || minRuntimeSeconds + gracePeriodSeconds > returnSeconds;

/** What a request takes of the GPUs: each share counts as one, since it may have to open a device. */
export const gpusAsked = ({ sharesTakeGpus }: GuaranteeBook, { total }: Demand): number =>
  total.gpuCount + (sharesTakeGpus ? total.shares.length : 0);

function add(amounts: Map<Holder, number>, holder: Holder, gpus: number): void {
  amounts.set(holder, (amounts.get(holder) ?? 0) + gpus);
}

function promise(
  book: GuaranteeBook,
  sessionId: string,
  ...[promised, sign = 1]: readonly [Promised, (1 | -1)?]
): void {
  const { holder, gpus, firmness } = promised;
  if (sign === 1) book.promised.set(sessionId, promised);
  else book.promised.delete(sessionId);
  add(book.use, holder, sign * gpus);
  for (const level of book.levels) if (isFirm(firmness, level)) add(level.firm, holder, sign * gpus);
}

/** Counts a session that this pass placed or gave a hold; what an older hold counted for it is replaced. Twice is once. */
export function notePromised(book: GuaranteeBook, session: SnapshotPending): void {
  noteDropped(book, session.id);
  promise(book, session.id, {
    holder: holderOf(book, session),
    gpus: gpusAsked(book, demandOf(session)),
    firmness: session,
  });
}

/** Its hold is given up, or is about to be looked at anew. Twice is once. */
export function noteDropped(book: GuaranteeBook, sessionId: string): void {
  const promised = book.promised.get(sessionId);
  if (promised !== undefined) promise(book, sessionId, promised, -1);
}

/** It is told to end in this pass: its holder uses less. Firm work stays firm until it is gone. */
export function noteStopped(book: GuaranteeBook, session: SnapshotRunning): void {
  add(book.use, holderOf(book, session), -devicesOf(session));
}
