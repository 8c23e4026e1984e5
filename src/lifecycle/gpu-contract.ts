import type { Session } from '../contract/index.js';

export interface ContractTerms {
  /** The open leaf that it names; null: none. */
  readonly budget: string | null;
  readonly minRuntimeSeconds: number;
  readonly graceSeconds: number;
  /** The longest grace of unallocated work that has to yield. */
  readonly unallocatedGraceSeconds: number;
}

const rounded = (amount: number): number => Math.round(amount * 1000) / 1000;
/** `2 h`, `90 min`, `29 h 24 min`, `35 h 16 min 48 s`; below two minutes, and where seconds are not whole, `90 s`, `10.5 s`. */
const seconds = (amount: number): string => {
  if (amount < 120 || !Number.isInteger(amount)) return `${rounded(amount)} s`;
  if (amount < 7200 && amount % 60 === 0 && amount !== 3600) return `${amount / 60} min`;
  const parts = [
    [Math.floor(amount / 3600), 'h'],
    [Math.floor(amount / 60) % 60, 'min'],
    [amount % 60, 's'],
  ] as const;
  return parts.flatMap(([part, unit]) => (part > 0 ? [`${part} ${unit}`] : [])).join(' ');
};

/** What a session was promised for its GPU-time, in a group that orders by fair share. */
export function contractOf(terms: ContractTerms): NonNullable<Session['contract']> {
  const { budget, minRuntimeSeconds, graceSeconds, unallocatedGraceSeconds } = terms;
  if (budget !== null && minRuntimeSeconds > 0) {
    const message =
      `charged to ${budget} for as long as it has its GPUs, and protected for its first ${seconds(minRuntimeSeconds)}; ` +
      `after that it may be stopped, with ${seconds(graceSeconds)}' notice, for a budget that has had less of its share`;
    return { allocated: true, message };
  }
  const why = minRuntimeSeconds > 0 ? 'no budget is charged' : 'no minimum runtime';
  const notice = seconds(Math.min(graceSeconds, unallocatedGraceSeconds));
  return { allocated: false, message: `${why}: free, and may be stopped at any time after ${notice}' notice` };
}
