/** A name, labels whose values may hold anything but a bare quote, a value, perhaps a moment and an exemplar. */
const SAMPLE =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?[ \t]+(\S+)(?:[ \t]+-?\d+(?:\.\d+)?)?[ \t]*(?:#.*)?$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
/** Of a histogram or summary: their sum over labels says nothing. */
const PART_LABEL = /[{,][ \t]*(?:le|quantile)[ \t]*=/;
const NO_FIGURE = /_(?:bucket|created)$/;
const NAME_CHARACTERS_MAX = 200;

/**
 * By series, labels summed, of Prometheus's or OpenMetrics' text; `seriesMax` in the order of their coming. Left out: what is no
 * sample, what is no finite number, parts of histograms and summaries (their sums and counts stay), names that begin with `__`.
 */
export function seriesOf(text: string, seriesMax: number): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = SAMPLE.exec(line.trim()) ?? [];
    if (name === undefined || value === undefined || !isFigure(name, labels) || !NUMBER.test(value)) continue;
    const before = sums.get(name);
    if (before === undefined && sums.size >= seriesMax) continue;
    sums.set(name, (before ?? 0) + Number(value));
  }
  for (const [name, sum] of sums) if (!Number.isFinite(sum)) sums.delete(name);
  return sums;
}

const isFigure = (name: string, labels: string): boolean =>
  name.length <= NAME_CHARACTERS_MAX && !name.startsWith('__') && !NO_FIGURE.test(name) && !PART_LABEL.test(labels);
