import { isRunning, signal, waitForEnd } from '../../platform/process-identity.js';
import type { StateDir } from '../../platform/state-dir.js';
import type { ChildStatus } from './child-spec.js';
import { readRunStatus } from './run-status.js';

/** Node children end by themselves when their supervisor is gone; this long before they are killed. */
const ORPHAN_SECONDS = 5;

export interface Stopped {
  readonly name: string;
  readonly pid: number;
  readonly how: 'ended' | 'killed';
}

async function endOne(child: ChildStatus, graceSeconds: number): Promise<Stopped[]> {
  const { process: identity, name } = child;
  if (identity === null || !isRunning(identity)) return [];
  signal(identity, child.stopSignal);
  if (await waitForEnd(identity, graceSeconds)) return [{ name, pid: identity.pid, how: 'ended' }];
  signal(identity, 'SIGKILL');
  await waitForEnd(identity, 10);
  return [{ name, pid: identity.pid, how: 'killed' }];
}

async function endAll(children: readonly ChildStatus[], graceSeconds?: number): Promise<Stopped[]> {
  const ranks = [...new Set(children.map((child) => child.stopRank))].sort((a, b) => a - b);
  const stopped: Stopped[] = [];
  for (const rank of ranks) {
    const group = children.filter((child) => child.stopRank === rank);
    const ended = group.map((child) => endOne(child, graceSeconds ?? child.stopSeconds));
    stopped.push(...(await Promise.all(ended)).flat());
  }
  return stopped;
}

/** Ends the node children that a killed supervisor left, so that their ports are free. What can be adopted stays. */
export function endOrphanedNodeChildren(state: StateDir): Promise<Stopped[]> {
  const children = readRunStatus(state)?.children ?? [];
  return endAll(
    children.filter((child) => child.kind === 'node'),
    ORPHAN_SECONDS,
  );
}

/** Ends everything that a killed supervisor left, in the order of `berth down`. */
export const endLeftovers = (state: StateDir): Promise<Stopped[]> => endAll(readRunStatus(state)?.children ?? []);
