import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type NamedResult, type Plot, plotsOf } from './plots.js';
import type { Comparison } from './simulate.js';

const SIZE = { width: 960, height: 540 };

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

async function svgOf({ option }: Plot): Promise<string> {
  const { init } = await import('echarts');
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...SIZE });
  chart.setOption(option);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

async function pngOf(svg: string): Promise<Buffer> {
  const { Resvg } = await import('@resvg/resvg-js');
  return new Resvg(svg, { font: { loadSystemFonts: true } }).render().asPng();
}
