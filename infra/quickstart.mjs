// `npm run quickstart`: from a fresh checkout to a trained model. A second run uses what the first one left.
// --stop-after stops Berth at the end; --state DIR keeps it somewhere else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt } from './ensure-built.mjs';
import { main, PROJECT_ROOT, SetupError, say } from './setup/common.mjs';
import { ensureDocker } from './setup/docker.mjs';
import { ensureImages } from './setup/image.mjs';
import { ensurePackages } from './setup/npm.mjs';
import { ensurePostgres } from './setup/postgres.mjs';
import { ensureTemporal } from './setup/temporal.mjs';

const { values: flags } = parseArgs({ options: { 'stop-after': { type: 'boolean' }, state: { type: 'string' } } });
const env = { ...process.env, ...(flags.state === undefined ? {} : { BERTH_STATE: flags.state }) };

const STEPS = [
  ['packages', ensurePackages],
  ['temporal', async () => (await ensureTemporal()).how],
  ['docker', async () => (await ensureDocker()).how],
  ['images', async () => (await ensureImages()).names.join(', ')],
  ['postgres', async () => (await ensurePostgres()).how],
  ['build', async () => ensureBuilt() ?? 'dist is up to date'],
];

async function node(program, ...args) {
  const child = spawn(process.execPath, [join(PROJECT_ROOT, 'dist', program), ...args], { stdio: 'inherit', env });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

await main(async () => {
  for (const [name, step] of STEPS) say(`${name}: ${await step()}`);
  if ((await node('berth.js', 'up', '--cpus', '4', '--simulated-gpus', '4', '--gpu-memory', '24Gi')) !== 0) {
    throw new SetupError('berth did not come up', 'node dist/berth.js doctor');
  }
  process.exitCode = await node('quickstart.js');
  if (!flags['stop-after']) return;
  await node('berth.js', 'down');
  say('berth is stopped; to go on where it was: npx berth up');
});
