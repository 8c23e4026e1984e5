import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify, isRunning, type ProcessIdentity } from '../platform/process-identity.js';

/** Another agent of this name runs on this machine and engine: two would fight over the same containers. */
export class AgentRuns extends Error {
  override readonly name = 'AgentRuns';
  constructor(node: string, pid: number) {
    super(`an agent of node ${node} runs already (pid ${pid})`);
  }
}

/** One agent a node name and engine. Throws `AgentRuns`. What a dead agent left is taken over. */
export function takeLock(node: string, engine: string, dir: string = tmpdir()): () => void {
  const key = createHash('sha256').update(`${node}\n${engine}`).digest('hex').slice(0, 12);
  const claim = claimFile(join(dir, `berth-agent-${node}-${key}.lock`));
  if ('holder' in claim) throw new AgentRuns(node, claim.holder.pid);
  return claim.free;
}

export type Claim = { readonly free: () => void } | { readonly holder: ProcessIdentity };

/** Whoever makes the file has it, until it frees it or its process is gone. Throws when it can neither be made nor read. */
export function claimFile(file: string): Claim {
  for (let tries = 0; ; tries += 1) {
    try {
      writeFileSync(file, JSON.stringify(identify(process.pid)), { flag: 'wx', mode: 0o644 });
      return { free: () => rmSync(file, { force: true }) };
    } catch (error) {
      const holder = readHolder(file);
      if (holder !== undefined && isRunning(holder)) return { holder };
      if (tries > 0) throw error;
      rmSync(file, { force: true });
    }
  }
}

function readHolder(file: string): ProcessIdentity | undefined {
  try {
    const { pid, startTicks } = JSON.parse(readFileSync(file, 'utf8')) as Partial<ProcessIdentity>;
    return pid === undefined || startTicks === undefined ? undefined : { pid, startTicks };
  } catch {
    return undefined;
  }
}
