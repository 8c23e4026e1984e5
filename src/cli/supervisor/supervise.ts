import { join } from 'node:path';
import { createLogger, type Logger } from '../../platform/log.js';
import { identify } from '../../platform/process-identity.js';
import type { StateDir } from '../../platform/state-dir.js';
import type { ChildSpec } from './child-spec.js';
import { endOrphanedNodeChildren } from './leftovers.js';
import { ManagedChild } from './managed-child.js';
import { releaseLock, takeLock } from './process-lock.js';
import { type Phase, writeRunStatus } from './run-status.js';

export interface SuperviseOptions {
  readonly state: StateDir;
  readonly urls: Readonly<Record<string, string>>;
  readonly log?: Logger;
  /** How long one rank may take before the next is started all the same: its children wait for what they need. */
  readonly rankSeconds?: number;
}

export interface Supervisor {
  /** Resolves when every child was ready once. */
  readonly ready: Promise<void>;
  /** Stops all, in the order of `stopRank`; a second call waits for the first. */
  stop(): Promise<void>;
}

const RANK_SECONDS = 90;

function byRank(children: readonly ManagedChild[], which: 'startRank' | 'stopRank'): ManagedChild[][] {
  const ranks = [...new Set(children.map((child) => child.spec[which]))].sort((a, b) => a - b);
  return ranks.map((rank) => children.filter((child) => child.spec[which] === rank));
}

/** Starts rank after rank; true when all were ready once. */
async function startAll(groups: readonly ManagedChild[][], rankSeconds: number): Promise<boolean> {
  let isComplete = true;
  for (const group of groups) {
    for (const child of group) child.start();
    const answers = await Promise.all(group.map((child) => child.whenReady(rankSeconds)));
    isComplete &&= answers.every(Boolean);
  }
  return isComplete;
}

/**
 * Runs the children of one state directory, in this process, until `stop()`. Throws when another supervisor has the
 * directory. Its own death needs no care: the next one ends, adopts or restarts what it finds.
 */
export async function supervise(children: readonly ChildSpec[], options: SuperviseOptions): Promise<Supervisor> {
  const { state, urls, log = createLogger({ process: 'supervisor', level: 'info' }) } = options;
  const lock = join(state.runDir, 'supervisor.pid');
  const owner = takeLock(lock);
  if (owner !== undefined) throw new Error(`a supervisor (pid ${owner.pid}) already runs on ${state.root}`);
  for (const { name, pid, how } of await endOrphanedNodeChildren(state)) log.info({ name, pid, how }, 'orphan ended');

  const self = identify(process.pid);
  if (self === undefined) throw new Error('this system has no /proc: Berth runs on Linux');
  const startedAt = new Date().toISOString();
  let phase: Phase = 'starting';
  const managed: ManagedChild[] = [];
  const write = () => {
    const status = { supervisor: self, startedAt, phase, urls, children: managed.map((child) => child.status) };
    try {
      writeRunStatus(state, status);
    } catch (error) {
      log.error({ error }, 'status not written'); // a full disk is no reason to stop the children
    }
  };
  const onChange = (child: ManagedChild) => {
    const { name, state: now, process: identity, detail } = child.status;
    log.info({ name, state: now, pid: identity?.pid, detail }, 'child');
    write();
  };
  const enter = (next: Phase) => {
    phase = next;
    write();
  };
  managed.push(...children.map((spec) => new ManagedChild(spec, { logFile: logFileOf(state, spec.name), onChange })));
  enter('starting');
  const ready = startAll(byRank(managed, 'startRank'), options.rankSeconds ?? RANK_SECONDS).then((isComplete) => {
    if (isComplete && phase === 'starting') enter('ready');
    else if (phase === 'starting') void whenAllReady(managed).then(() => phase === 'starting' && enter('ready'));
  });
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    enter('stopping');
    for (const group of byRank(managed, 'stopRank')) await Promise.all(group.map((child) => child.stop()));
    enter('stopped');
    releaseLock(lock);
  };
  return { ready, stop: () => (stopped ??= stop()) };
}

/** A start slower than the rank's time is still a start. */
async function whenAllReady(children: readonly ManagedChild[]): Promise<void> {
  for (const child of children) await child.whenReady(Number.POSITIVE_INFINITY);
}

export const logFileOf = (state: StateDir, name: string): string => join(state.logsDir, `${name}.log`);
