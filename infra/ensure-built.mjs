// Builds `dist` when its sources changed. Exits non-zero, with the reason, when it cannot.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, main, PROJECT_ROOT, SetupError } from './setup/common.mjs';

export function ensureBuilt(flags = []) {
  const tsx = join(PROJECT_ROOT, 'node_modules', 'tsx', 'dist', 'cli.mjs');
  if (!existsSync(tsx)) throw new SetupError('build: node_modules is not there', 'npm ci');
  const script = join(PROJECT_ROOT, 'infra', 'build', 'build.ts');
  const done = spawnSync(process.execPath, [tsx, script, ...flags], { cwd: PROJECT_ROOT, stdio: ['ignore', 2, 2] });
  if (done.status !== 0) throw new SetupError('build: failed, see above', 'mend the sources and run again');
}

if (isMain(import.meta.url)) await main(async () => ensureBuilt(process.argv.slice(2)));
