import type { SnapshotRunning } from '../contract/snapshot.js';
import { protectedUntilMs } from '../lifecycle/protection.js';
import { msOf, timestampOf } from './moments.js';

/** When a session on a draining node is told to end, and when it is gone at the latest. */
export interface DrainStop {
  readonly stopMs: number;
  readonly goneMs: number;
  /** One that starts has no minimum that ends: `stopMs` is then as if it started now, and only a deadline stops it. */
  readonly isFirm: boolean;
  /** The deadline stops it within its minimum runtime. */
  readonly breaksMinRuntime: boolean;
  readonly because: string;
}

export interface DrainLimits {
  readonly nowMs: number;
  /** Then even protected work is stopped; Infinity without a deadline. */
  readonly deadlineMs: number;
}

/** At the end of its minimum runtime, whether it may be preempted or not; at the deadline, whatever is protected. */
export function drainStop(session: SnapshotRunning, { nowMs, deadlineMs }: DrainLimits): DrainStop {
  if (session.goneBy !== null) {
    const goneMs = Math.max(nowMs, msOf(session.goneBy));
    return { stopMs: nowMs, goneMs, isFirm: true, breaksMinRuntime: false, because: 'it ends already' };
  }
  const endMs = protectedUntilMs(session);
  const protectedMs = endMs ?? nowMs + session.minRuntimeSeconds * 1000;
  const stopMs = Math.max(nowMs, Math.min(protectedMs, deadlineMs));
  const breaksMinRuntime = stopMs < protectedMs;
  return {
    stopMs,
    goneMs: stopMs + session.gracePeriodSeconds * 1000,
    isFirm: endMs !== null || stopMs >= deadlineMs,
    breaksMinRuntime,
    because: becauseOf(session, { stopMs, protectedMs, breaksMinRuntime }),
  };
}

interface Told {
  readonly stopMs: number;
  readonly protectedMs: number;
  readonly breaksMinRuntime: boolean;
}

function becauseOf({ startedAt, minRuntimeSeconds }: SnapshotRunning, told: Told): string {
  const { stopMs, protectedMs, breaksMinRuntime } = told;
  if (breaksMinRuntime) {
    const missing = Math.ceil((protectedMs - stopMs) / 1000);
    return `the deadline of the drain comes ${missing} s before the end of its minimum runtime of ${minRuntimeSeconds} s`;
  }
  if (startedAt === null) return `it starts: its minimum runtime of ${minRuntimeSeconds} s begins when it runs`;
  if (minRuntimeSeconds === 0) return 'it has no minimum runtime';
  return `its minimum runtime of ${minRuntimeSeconds} s ${stopMs > protectedMs ? 'ended' : 'ends'} at ${timestampOf(protectedMs)}`;
}
