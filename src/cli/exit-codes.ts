/** What a caller of the program can react to. `run`, `wait`, `exec` and `logs --exit-status` give the workload's own code. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  denied: 4,
  conflict: 5,
  refused: 6,
  unreachable: 7,
  /** Preempted, and back in the queue. */
  requeued: 75,
  timeout: 124,
  notStarted: 125,
  notExecutable: 126,
  commandNotFound: 127,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Codes of problems with an exit code of their own; another 4xx is `usage`, a 5xx `unreachable`. */
const BY_PROBLEM: Readonly<Record<string, ExitCode>> = {
  not_found: EXIT.notFound,
  gone: EXIT.notFound,
  unauthenticated: EXIT.denied,
  forbidden: EXIT.denied,
  conflict: EXIT.conflict,
  stale: EXIT.conflict,
  idempotency_key_reused: EXIT.conflict,
  quota_exceeded: EXIT.refused,
  never_fits: EXIT.refused,
  rate_limited: EXIT.unreachable,
};

export function exitCodeOfProblem(problem: { readonly code: string; readonly status: number }): ExitCode {
  const known = Object.hasOwn(BY_PROBLEM, problem.code) ? BY_PROBLEM[problem.code] : undefined;
  if (known !== undefined) return known;
  return problem.status >= 500 ? EXIT.unreachable : EXIT.usage;
}
