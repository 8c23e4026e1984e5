import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning, type ProcessIdentity } from '../../platform/process-identity.js';
import { type StateDir, writePrivateFile } from '../../platform/state-dir.js';
import type { ChildStatus } from './child-spec.js';

export type Phase = 'starting' | 'ready' | 'stopping' | 'stopped';

/** What the supervisor writes at each change, and all that `status`, `down` and the next supervisor know. */
export interface RunStatus {
  readonly supervisor: ProcessIdentity;
  readonly startedAt: string;
  readonly phase: Phase;
  readonly children: readonly ChildStatus[];
  /** What a person opens: name → URL. */
  readonly urls: Readonly<Record<string, string>>;
}

const fileOf = (state: StateDir) => join(state.runDir, 'status.json');

export function writeRunStatus(state: StateDir, status: RunStatus): void {
  writePrivateFile(fileOf(state), `${JSON.stringify(status, null, 2)}\n`);
}

/** The last written status, whoever wrote it; undefined when nobody did, or a full disk left it unreadable. */
export function readRunStatus(state: StateDir): RunStatus | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(state), 'utf8')) as RunStatus;
  } catch {
    return undefined;
  }
}

/** The supervisor that runs now, and its status. */
export function liveRunStatus(state: StateDir): RunStatus | undefined {
  const status = readRunStatus(state);
  return status !== undefined && isRunning(status.supervisor) ? status : undefined;
}

export const forgetRunStatus = (state: StateDir): void => rmSync(fileOf(state), { force: true });
