import type { Pool } from '../contract/index.js';
import { parseDurationSeconds } from './amounts.js';
import { CliError } from './cli-error.js';
import { type CommandContext, interruptSignal } from './command-context.js';
import { EXIT } from './exit-codes.js';
import { pause } from './pause.js';
import { readyMembers } from './pool-columns.js';
import { openProgress } from './progress.js';

const LOOK_AGAIN_MILLISECONDS = 500;

/** Until as many members as are wanted are ready, and no other is left. Tells each change. */
export async function untilReady(context: CommandContext, name: string, timeout?: string): Promise<Pool> {
  return untilPool(context, {
    name,
    timeout,
    isDone: (pool) => readyMembers(pool) === pool.membersWanted && pool.members.length === pool.membersWanted,
  });
}

/** Until no member is left. */
export async function untilEmpty(context: CommandContext, name: string, timeout?: string): Promise<Pool> {
  return untilPool(context, { name, timeout, isDone: ({ members }) => members.length === 0 });
}

interface Until {
  readonly name: string;
  readonly timeout: string | undefined;
  readonly isDone: (pool: Pool) => boolean;
}

async function untilPool({ client }: CommandContext, { name, timeout, isDone }: Until): Promise<Pool> {
  const { pools } = await client();
  const signal = interruptSignal();
  const progress = await openProgress();
  const seconds =
    timeout === undefined ? Number.POSITIVE_INFINITY : parseDurationSeconds({ name: '--timeout', text: timeout });
  const until = performance.now() + seconds * 1000;
  try {
    for (;;) {
      const pool = await pools.get(name, { signal });
      if (isDone(pool)) return pool;
      const text = progressText(pool);
      if (performance.now() >= until)
        throw new CliError(`pool ${name} after ${timeout}: ${text}`, EXIT.timeout, `berth pool get ${name}`);
      progress.tell(text);
      await pause(LOOK_AGAIN_MILLISECONDS, signal);
    }
  } finally {
    progress.end();
  }
}

/** `1/3 members ready · 1 WAITING: project_quota · 1 STARTING`. */
export function progressText(pool: Pool): string {
  const others = pool.members.filter(({ state }) => state !== 'READY');
  const groups = new Map<string, number>();
  for (const { state, reason } of others) {
    const key = reason === null ? state : `${state}: ${reason}`;
    groups.set(key, (groups.get(key) ?? 0) + 1);
  }
  const parts = [...groups].map(([what, count]) => `${count} ${what}`);
  return [`${readyMembers(pool)}/${pool.membersWanted} members ready`, ...parts].join(' · ');
}
