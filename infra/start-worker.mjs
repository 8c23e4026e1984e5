// `npm run worker:control`: one more process on the state directory of a running `berth up`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt } from './ensure-built.mjs';
import { main, PROJECT_ROOT } from './setup/common.mjs';

await main(async () => {
  ensureBuilt();
  const berth = join(PROJECT_ROOT, 'dist', 'berth.js');
  const child = spawn(process.execPath, [berth, 'worker', ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
});
