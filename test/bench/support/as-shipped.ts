import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/**
 * A module of the sources, bundled with the settings of `npm run build`: what runs it from the sources names every function anew at
 * each call, which a pass of thousands of small functions would be measured by.
 */
export async function asShipped<Module>(source: string): Promise<Module> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  const outfile = join(folder, 'module.mjs');
  try {
    await build({
      entryPoints: [source],
      outfile,
      bundle: true,
      platform: 'node',
      target: 'node20.19',
      format: 'esm',
      packages: 'bundle',
      logLevel: 'warning',
    });
    return (await import(pathToFileURL(outfile).href)) as Module;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
