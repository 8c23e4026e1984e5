import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { svgOf } from '../../plots/svg-of.js';
import { type NamedResult, plotsOf } from './plots.js';
import type { Comparison } from './simulate.js';

/** `comparison.json` and each plot as SVG and PNG; files of the same names are replaced. Answers the names. */
export async function writeResults(
  folder: string,
  { comparison, runs }: { readonly comparison: Comparison; readonly runs: readonly NamedResult[] },
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'comparison.json'), `${JSON.stringify(comparison, null, 2)}\n`);
  const names = ['comparison.json'];
  for (const plot of plotsOf(runs)) {
    const svg = await svgOf(plot);
    await writeFile(join(folder, `${plot.name}.svg`), svg);
    await writeFile(join(folder, `${plot.name}.png`), await pngOf(svg));
    names.push(`${plot.name}.svg`, `${plot.name}.png`);
  }
  return names;
}

async function pngOf(svg: string): Promise<Buffer> {
  const { Resvg } = await import('@resvg/resvg-js');
  return new Resvg(svg, { font: { loadSystemFonts: true } }).render().asPng();
}
