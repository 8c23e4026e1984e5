/** Σ of all samples of a metric, whatever their labels; undefined when there is none. Comments and broken lines are passed over. */
export function sumOf(text: string, metric: string): number | undefined {
  let sum: number | undefined;
  for (const line of text.split('\n')) {
    if (!line.startsWith(metric)) continue;
    const value = sampleValue(line.slice(metric.length));
    if (value !== undefined) sum = (sum ?? 0) + value;
  }
  return sum;
}

/** What stands behind the name: labels in braces or nothing, the value, perhaps a time. */
function sampleValue(rest: string): number | undefined {
  const [, text] = /^(?:\{.*\})?\s+(\S+)(?:\s+-?\d+)?\s*$/.exec(rest) ?? [];
  if (text === undefined) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
