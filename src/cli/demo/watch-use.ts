import type { Client } from '../../sdk/index.js';
import { CliError } from '../cli-error.js';
import type { DemoOptions } from './demo-options.js';

const LOOK_MILLISECONDS = 500;
const SECONDS_MAX = 200;

/** Looks until there is something. Throws with `what` when there is nothing for too long. */
export async function until<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
  const latest = performance.now() + SECONDS_MAX * 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > latest) throw new CliError(`expected: ${what}; it was not so for ${SECONDS_MAX} s`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
  }
}

/** What a command in the session's main kernel wrote. */
export async function outputOf(client: Client, session: string, command: string[]): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const frame of client.sessions.exec(session, { command })) {
    if (frame.kind === 'output' && frame.stream === 'stdout') chunks.push(Buffer.from(frame.data));
  }
  return Buffer.concat(chunks).toString();
}

/** Millicores by name, once each of them has been measured. */
export const measuredUse = (
  { admin, group, signal }: Pick<DemoOptions, 'admin' | 'group' | 'signal'>,
  names: readonly string[],
): Promise<Readonly<Record<string, number>>> =>
  until('each session is measured', async () => {
    signal.throwIfAborted();
    const use = await admin.usage.list({ group }).toArray();
    const known = use.flatMap(({ name, kernels }) => {
      const milli = kernels[0]?.cpuMilli ?? null;
      return names.includes(name) && milli !== null ? [[name, Math.round(milli)] as const] : [];
    });
    return known.length === names.length ? Object.fromEntries(known) : undefined;
  });
