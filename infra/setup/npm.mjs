// Installs the packages when they are missing.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, main, PROJECT_ROOT, run, SetupError, say, withLock } from './common.mjs';

const NODE_FLOOR = [20, 19];

export function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1])) return;
  throw new SetupError(`node: this is ${process.version}`, `install Node ${NODE_FLOOR.join('.')} or newer`);
}

export async function ensurePackages() {
  checkNode();
  const modules = join(PROJECT_ROOT, 'node_modules');
  const isThere = () => existsSync(join(modules, '.package-lock.json'));
  if (isThere()) return 'node_modules is there';
  return withLock('npm', async () => {
    if (isThere()) return 'node_modules is there';
    say('npm: installing packages (about a minute)');
    const done = await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: PROJECT_ROOT, timeoutSeconds: 1200 });
    if (done.code === 0) return 'installed';
    const last = done.stderr.trim().split('\n').slice(-4).join(' | ');
    throw new SetupError(
      `npm: "npm ci" ended with ${done.code}: ${last}`,
      'make a package registry reachable, and run npm ci',
    );
  });
}

if (isMain(import.meta.url)) await main(async () => say(`npm: ${await ensurePackages()}`));
