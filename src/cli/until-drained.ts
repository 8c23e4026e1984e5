import type { Client } from '../sdk/index.js';
import { CliError } from './cli-error.js';
import { EXIT } from './exit-codes.js';
import { formatUntil, sessionsText } from './format-amounts.js';
import type { Output } from './output.js';

const LOOK_AGAIN_MILLISECONDS = 2000;
const ALREADY_OUT: readonly string[] = ['DRAINED', 'LOST'];

interface Watch {
  readonly client: Client;
  readonly out: Output;
  readonly signal: AbortSignal;
}

/** Waits until the node holds nothing more; tells each change of what it holds. Fails when the drain is called off. */
export async function untilDrained({ client, out, signal }: Watch, name: string): Promise<void> {
  let told = '';
  for (;;) {
    const { state, drain, devices } = await client.nodes.get(name, { signal });
    const isHeld = devices.some(({ heldBy, shares }) => heldBy !== null || shares.length > 0);
    if (ALREADY_OUT.includes(state) || (state === 'UNHEALTHY' && drain?.remaining === 0 && !isHeld)) {
      return out.say(`node ${name} is ${state}: it holds nothing more`);
    }
    if (drain === null && state !== 'UNHEALTHY') {
      throw new CliError(
        `node ${name} is ${state}: its drain was called off`,
        EXIT.conflict,
        `berth node show ${name}`,
      );
    }
    const until =
      drain?.emptyAt == null ? '' : `, empty by ${drain.emptyAt} (${formatUntil(drain.emptyAt, new Date())})`;
    const text = drain === null ? 'it holds sessions still' : `${sessionsText(drain.remaining)} left`;
    if (text !== told) out.say(`${text}${until}`);
    told = text;
    await pause(signal);
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, LOOK_AGAIN_MILLISECONDS);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
