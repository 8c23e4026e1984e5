import type { IdleFinding, IdleVerdict } from '../contract/index.js';

const rounded = (value: number): string => String(Math.round(value * 10) / 10);
const whole = (value: number): string => String(Math.round(value));

/** One measure in words: `cpu 12 of 100 millicores`. */
export function findingText({ measure, value, threshold }: IdleFinding): string {
  switch (measure) {
    case 'cpu':
      return `cpu ${value === null ? 'not measured' : `${whole(value)} of ${threshold} millicores`}`;
    case 'requests':
      return value === null ? 'requests not known' : value === 0 ? 'no request' : `${value} requests in flight`;
    case 'runtime':
      return `it runs for ${value ?? 0} of ${threshold} s`;
    default:
      return `${measure} ${value === null ? 'not measured' : `${rounded(value)} of ${threshold} %`}`;
  }
}

const texts = (findings: readonly IdleFinding[], status: IdleFinding['status']): string =>
  findings
    .filter((finding) => finding.status === status)
    .map(findingText)
    .join(', ');

/** The verdict in one sentence: by which measure, since when, and what happens when. */
export function idleText({ state, since, reclaimAt, findings }: Omit<IdleVerdict, 'message'>): string {
  const low = texts(findings, 'low');
  switch (state) {
    case 'active':
      return `in use: ${texts(findings, 'active') || 'nothing that the policy looks at is here'}`;
    case 'unknown':
      return `nothing is reclaimed while a measurement is missing: ${texts(findings, 'unknown')}`;
    case 'exempt':
      return 'exempt from the idle policy';
    case 'due':
      return `idle since ${since ?? '?'}: ${low}`;
    default:
      return `idle since ${since ?? '?'} (${low}); it ends at ${reclaimAt ?? '?'} unless it is used`;
  }
}
