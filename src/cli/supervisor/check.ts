export interface CheckResult {
  readonly name: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** The one thing to do; empty when all is well. */
  readonly mend: string;
}

/** One look at the machine. It changes nothing. */
export interface Check {
  readonly name: string;
  look(): Promise<Finding> | Finding;
}

export type Finding = Omit<CheckResult, 'name'>;

export const ok = (detail: string): Finding => ({ verdict: 'ok', detail, mend: '' });
export const warn = (detail: string, mend: string): Finding => ({ verdict: 'warn', detail, mend });
export const fail = (detail: string, mend: string): Finding => ({ verdict: 'fail', detail, mend });
