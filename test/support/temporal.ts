import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureTemporal, findTemporalProgram } from '../../infra/setup/temporal.mjs';
import { temporalArguments } from '../../src/cli/supervisor/temporal-arguments.js';
import { endChild, eventually, freePort, spawnTied } from './process.js';

export interface TestTemporalOptions {
  /** Name → type, as `temporal server start-dev --search-attribute` takes them. */
  readonly searchAttributes?: Readonly<Record<string, string>>;
  /** On a file the state survives `kill()` and `restart()`; in memory it does not. */
  readonly onFile?: boolean;
  readonly dynamicConfig?: readonly string[];
}

export interface TestTemporal {
  readonly address: string;
  readonly namespace: string;
  /** Path of the `temporal` program, for tests that drive its command line. */
  readonly program: string;
  kill(): Promise<void>;
  start(): Promise<void>;
  restart(): Promise<void>;
  /** Ends the server and removes its file. */
  stop(): Promise<void>;
}

async function answers(program: string, address: string): Promise<boolean> {
  const args = ['operator', 'namespace', 'describe', '--namespace', 'default', '--address', address];
  const [code] = await once(spawn(program, args, { stdio: 'ignore' }), 'exit');
  return code === 0;
}

/** A real Temporal server on a free port, headless, with the flags of `berth up`. */
export async function startTestTemporal(options: TestTemporalOptions = {}): Promise<TestTemporal> {
  const { path: program } = await ensureTemporal(findTemporalProgram);
  const dir = mkdtempSync(join(tmpdir(), 'berth-test-temporal-'));
  const port = await freePort();
  const metricsPort = await freePort();
  const address = `127.0.0.1:${port}`;
  const { searchAttributes = {}, onFile = false, dynamicConfig = [] } = options;
  const file = onFile ? { databaseFile: join(dir, 'temporal.db') } : {};
  const args = temporalArguments({ port, metricsPort, searchAttributes, dynamicConfig, ...file });
  const launch = async (): Promise<ChildProcess> => {
    const started = spawnTied(program, args);
    await eventually('Temporal answers', () => {
      if (started.exitCode !== null) throw new Error(`temporal ended with ${started.exitCode}`);
      return answers(program, address);
    });
    return started;
  };
  let child = await launch();
  const start = async () => {
    child = await launch();
  };
  return {
    address,
    namespace: 'default',
    program,
    start,
    kill: () => endChild(child, 'SIGKILL'),
    restart: async () => {
      await endChild(child, 'SIGTERM');
      await start();
    },
    stop: async () => {
      await endChild(child, 'SIGKILL');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
