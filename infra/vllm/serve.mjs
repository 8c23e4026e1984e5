// Serves the tiny Llama by the real vLLM on this machine's CPU.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheDir } from '../setup/common.mjs';
import { ensureVllm } from './setup.mjs';

export const TINY_MODEL = 'tiny';
/** It answers within a minute on two quiet cores; beside a load of 15 it took 5. */
const READY_SECONDS = 900;

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const answers = (url) =>
  fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );

async function untilReady(url, child, logFile) {
  const deadline = Date.now() + READY_SECONDS * 1000;
  while (!(await answers(url))) {
    const isOver = child.exitCode !== null || Date.now() > deadline;
    if (isOver) throw new Error(`vLLM is not ready: ${readFileSync(logFile, 'utf8').slice(-2000)}`);
    await sleep(500);
  }
}

/** Everywhere: there is no GPU, and nothing is fetched. */
const ON_CPU = { VLLM_CPU_KVCACHE_SPACE: '1', HF_HUB_OFFLINE: '1', VLLM_NO_USAGE_STATS: '1' };
const DUMMY = ['--load-format', 'dummy', '--enforce-eager', '--max-model-len', '256'];

/** As a person would start it. Sleep mode is not there on a CPU, though its endpoints are (they change a state only). */
const plainLaunch = (apiKey) => (modelPath, port) => ({
  args: ['serve', modelPath, '--served-model-name', TINY_MODEL, '--host', '127.0.0.1', '--port', String(port)],
  environment: { VLLM_SERVER_DEV_MODE: '1', VLLM_API_KEY: apiKey },
});

/**
 * A server that is ready; `stop` asks it to end (SIGTERM), ends it by force after `seconds`, and answers its exit code (null: by force).
 * `args` are further ones of `vllm serve`; `launch` says the rest. Installs vLLM when it is not there.
 */
export async function serveVllm({ args = [], apiKey = 'test-key', launch = plainLaunch(apiKey) } = {}) {
  const { vllm, model } = await ensureVllm();
  const port = await freePort();
  const logFile = join(cacheDir('logs'), `vllm-${port}.log`);
  const log = openSync(logFile, 'w');
  const told = launch(model, port);
  const child = spawn(vllm, [...told.args, ...DUMMY, ...args], {
    cwd: cacheDir(),
    env: { ...process.env, ...ON_CPU, ...told.environment },
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  const kill = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // it and all that it started have ended
    }
  };
  process.once('exit', kill);
  const stop = async (seconds = 30) => {
    child.kill('SIGTERM');
    const timer = setTimeout(kill, seconds * 1000);
    const code = await ended;
    clearTimeout(timer);
    kill();
    process.off('exit', kill);
    return code;
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilReady(url, child, logFile);
  } catch (error) {
    await stop(0);
    throw error;
  }
  return { url, port, apiKey, model: TINY_MODEL, modelPath: model, logFile, stop };
}
