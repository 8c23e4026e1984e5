import type { BudgetSettings } from '../contract/index.js';
import { parseDurationSeconds, type Written } from './amounts.js';
import { usageError } from './cli-error.js';
import { formatSeconds } from './format-amounts.js';

type Settings = BudgetSettings;

export const SETTINGS_HELP = `
Settings (a time is 30s, 10m, 7d …):
  window=time              over which use is counted
  halfLife=time|none       use counts half after it
  factor.MODEL=number|none what an hour of that GPU counts; none: 1
  unallocatedGrace=time    the longest grace of unallocated work that has to yield

Examples:
  berth budget settings
  berth budget settings window=14d factor.H200=1.5`;

const whole = (written: Written): number => Math.round(parseDurationSeconds(written));

function factor(written: Written): number {
  const amount = Number(written.text);
  if (/^\d+(\.\d{1,3})?$/.test(written.text) && amount > 0) return amount;
  throw usageError(
    `${written.name}: "${written.text}" is no factor: write 0.5, 1 or 2.25 (three decimals at most), or none`,
  );
}

/** `key=value` arguments laid over the present settings. Throws a usage error that names the key. */
export function changedSettings(present: Settings, pairs: readonly string[]): Settings {
  return pairs.reduce((settings, pair) => ({ ...settings, ...changeOf(settings, pair) }), present);
}

function changeOf({ factors }: Settings, pair: string): Partial<Settings> {
  const at = pair.indexOf('=');
  const [name, text] = at === -1 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
  const written = { name, text };
  if (name === 'window') return { windowSeconds: whole(written) };
  if (name === 'halfLife') return { halfLifeSeconds: text === 'none' ? null : whole(written) };
  if (name === 'unallocatedGrace') return { unallocatedGraceSeconds: parseDurationSeconds(written) };
  const model = name.startsWith('factor.') ? name.slice('factor.'.length) : '';
  if (model === '') throw usageError(`"${name}" is none of window, halfLife, factor.MODEL, unallocatedGrace`);
  const { [model]: _present, ...others } = factors;
  return { factors: text === 'none' ? others : { ...others, [model]: factor(written) } };
}

/** In the words that the command takes. */
export function settingsText({ windowSeconds, halfLifeSeconds, factors, unallocatedGraceSeconds }: Settings): string {
  return [
    `window=${formatSeconds(windowSeconds)}`,
    `halfLife=${halfLifeSeconds === null ? 'none' : formatSeconds(halfLifeSeconds)}`,
    `unallocatedGrace=${formatSeconds(unallocatedGraceSeconds)}`,
    ...Object.entries(factors).map(([model, amount]) => `factor.${model}=${amount}`),
  ].join('\n');
}
