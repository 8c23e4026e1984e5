/** What ECharts draws, in the browser as here. */
export type PlotOption = Readonly<Record<string, unknown>>;
export interface Plot {
  /** Of its files, without an ending. */
  readonly name: string;
  readonly option: PlotOption;
}
export type PlotPoint = readonly [x: number, y: number];

/** Title, legend and two axes of numbers; a plot adds its series, and what differs. */
export const frame = (title: string, axes: { readonly x: string; readonly y: string }): PlotOption => ({
  animation: false,
  backgroundColor: '#ffffff',
  title: { text: title, left: 'center', textStyle: { fontSize: 16 } },
  legend: { top: 42, type: 'plain', icon: 'roundRect', itemGap: 28 },
  grid: { left: 70, right: 30, top: 80, bottom: 60 },
  xAxis: { type: 'value', name: axes.x, nameLocation: 'middle', nameGap: 30, min: 0 },
  yAxis: { type: 'value', name: axes.y },
});

export const line = (name: string, points: readonly PlotPoint[]): PlotOption => ({
  type: 'line',
  name,
  showSymbol: false,
  data: points,
});
