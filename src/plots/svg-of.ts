import type { Plot } from './plot.js';

const SIZE = { width: 960, height: 540 };

/** One SVG element with all that it needs. ECharts is loaded at the first one. */
export async function svgOf(
  { option }: Plot,
  size: { readonly width: number; readonly height: number } = SIZE,
): Promise<string> {
  const { init } = await import('echarts');
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...size });
  chart.setOption(option);
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
