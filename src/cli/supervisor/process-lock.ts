import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { identify, isRunning, type ProcessIdentity } from '../../platform/process-identity.js';

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

function readOwner(file: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Takes the lock for this process, or returns the living process that has it. The file comes into being whole (link),
 * and a dead owner's is moved away by exactly one of those who find it.
 */
export function takeLock(file: string): ProcessIdentity | undefined {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, JSON.stringify(identify(process.pid)), { mode: 0o600 });
  try {
    for (;;) {
      try {
        linkSync(own, file);
        return undefined;
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error;
      }
      const owner = readOwner(file);
      if (owner !== undefined && isRunning(owner)) return owner;
      moveAway(file, owner);
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** Two may find the same dead owner: what the slower one moved could be the faster one's lock, and goes back. */
function moveAway(file: string, dead: ProcessIdentity | undefined): void {
  const aside = `${file}.dead.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const moved = readOwner(aside);
  if (moved?.pid !== dead?.pid || moved?.startTicks !== dead?.startTicks) linkSync(aside, file);
  rmSync(aside, { force: true });
}

/** Only its owner calls this. */
export const releaseLock = (file: string): void => rmSync(file, { force: true });

/** Does `work` alone; waits up to `timeoutSeconds` for another process that does it. */
export async function withProcessLock<T>(file: string, timeoutSeconds: number, work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  for (let owner = takeLock(file); owner !== undefined; owner = takeLock(file)) {
    if (performance.now() > deadline) throw new Error(`pid ${owner.pid} has held ${file} for ${timeoutSeconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  try {
    return await work();
  } finally {
    releaseLock(file);
  }
}
