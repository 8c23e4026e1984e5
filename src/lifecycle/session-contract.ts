/** What a session was admitted under, in a group that orders by fair share. */
export interface ContractTerms {
  /** The path of the budget that is charged; null: none. */
  readonly budget: string | null;
  readonly minRuntimeSeconds: number;
  /** What it gets when it has to yield: its own grace, or less where it is unallocated. */
  readonly graceSeconds: number;
}

export interface SessionContract {
  readonly allocated: boolean;
  readonly message: string;
}

const SPANS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

/** `4 h`, `1.5 h`, `90 s`: one unit, two decimals at most, rounded down, so that it never promises too much. */
export function spanText(seconds: number): string {
  const [unit, size] = SPANS.find(([, length]) => seconds >= length) ?? (['s', 1] as const);
  return `${Math.floor((seconds / size) * 100 + 1e-9) / 100} ${unit}`;
}

/** Whether it is charged, and what that means for who may stop it. */
export function sessionContract({ budget, minRuntimeSeconds, graceSeconds }: ContractTerms): SessionContract {
  const notice = `after ${spanText(graceSeconds)} of notice`;
  if (budget === null || minRuntimeSeconds === 0) {
    const why = minRuntimeSeconds === 0 ? 'no minimum runtime' : 'no budget';
    return {
      allocated: false,
      message: `unallocated (${why}): free, after all allocated work in the order, and may be stopped at any time ${notice}`,
    };
  }
  return {
    allocated: true,
    message: `charged to ${budget} for as long as it holds its GPUs: nobody stops it within ${spanText(minRuntimeSeconds)} of its start, after that allocated work of a less served budget may, ${notice}`,
  };
}
