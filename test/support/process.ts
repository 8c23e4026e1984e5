import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { isPortFree } from '../../src/cli/supervisor/ports.js';

const SETPRIV = '/usr/bin/setpriv';

/** Starts a program that dies with this test process, however that ends. */
export function spawnTied(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const tied = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', '--', command] : [command];
  const [program = command, ...prefix] = tied;
  const child = spawn(program, [...prefix, ...args], { stdio: 'ignore', ...options });
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  child.on('error', () => undefined);
  return child;
}

/** Signals a child and waits until it is gone. A child that is gone already is success. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/** Below those that Linux gives to whoever asks for any, and those of `berth up`: nobody takes one by chance after it was looked at. */
const [LOWEST_PORT, HIGHEST_PORT] = [12_000, 19_999];

/** A port that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT + 1);
    if (await isPortFree(port)) return port;
  }
}

/** Polls until `probe` answers true; the error names `what` after `timeoutSeconds`. */
export async function eventually(
  what: string,
  probe: () => boolean | Promise<boolean>,
  timeoutSeconds = 30,
): Promise<void> {
  const deadline = Date.now() + timeoutSeconds * 1000;
  while (!(await probe())) {
    if (Date.now() > deadline) throw new Error(`not within ${timeoutSeconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
