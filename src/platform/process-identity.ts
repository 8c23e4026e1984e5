import { readdirSync, readFileSync } from 'node:fs';

/** A process that no later one is mistaken for: the kernel reuses a pid, never with the same start. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks after boot, field 22 of `/proc/<pid>/stat`. */
  readonly startTicks: number;
}

/** Reads the kernel's answer about a living process; undefined when there is none, or only its corpse (a zombie). */
export function identify(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name may hold spaces
    if (state === 'Z' || state === 'X') return undefined;
    return { pid, startTicks: Number(fields[18]) };
  } catch {
    return undefined;
  }
}

export const isRunning = (identity: ProcessIdentity): boolean =>
  identify(identity.pid)?.startTicks === identity.startTicks;

/** The arguments that a process was started with; empty when it is gone. */
export function commandLine(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return [];
  }
}

/** The process started with that very argument, such as a path that only it uses; undefined when there is none. */
export function findByArgument(argument: string): ProcessIdentity | undefined {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const pid = pids.find((candidate) => commandLine(candidate).includes(argument));
  return pid === undefined ? undefined : identify(pid);
}

/** Sends a signal to that very process; one that is gone is success. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isRunning(identity)) return;
  try {
    process.kill(identity.pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Waits for its end. False when it still runs after `timeoutSeconds`. */
export async function waitForEnd(identity: ProcessIdentity, timeoutSeconds: number): Promise<boolean> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  while (isRunning(identity)) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}
