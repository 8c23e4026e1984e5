import type { DrainPlan } from '../contract/index.js';
import { formatUntil } from './format-amounts.js';
import { renderTable } from './table.js';

type Stop = DrainPlan['stops'][number];

const COLUMNS = [
  { head: '  NAME', of: ({ name }: Stop) => `  ${name}` },
  { head: 'USER', of: ({ user }: Stop) => user },
  { head: 'PROJECT', of: ({ project }: Stop) => project },
  { head: 'GPU', of: ({ gpuCount }: Stop) => String(gpuCount) },
  { head: 'STOPS', of: ({ stopAt }: Stop, now: Date) => whenText(stopAt, now) },
  { head: 'GONE-BY', of: ({ goneBy }: Stop) => clockText(goneBy) },
  { head: 'THEN', of: ({ then }: Stop) => (then === 'requeue' ? 'back to the queue' : 'ends') },
  { head: 'BECAUSE', of: ({ because }: Stop) => because },
] as const;

/** Who stops when on a node that drains, and when it is empty, for people. */
export function drainText({ node, emptyAt, stops }: DrainPlan, now: Date, isDryRun = false): string {
  const would = isDryRun ? 'would drain' : 'drains';
  if (emptyAt === null) return `node ${node} ${would}: it holds nothing`;
  const head = `node ${node} ${would}: empty by ${emptyAt} (${formatUntil(emptyAt, now)})`;
  const broken = stops.filter(({ breaksMinRuntime }) => breaksMinRuntime).length;
  return [
    head,
    renderTable(stops, COLUMNS, { isWide: false, now }),
    ...(broken === 0 ? [] : [`  the deadline stops ${broken} within their minimum runtime`]),
  ].join('\n');
}

const whenText = (at: string, now: Date): string => (Date.parse(at) <= now.getTime() ? 'now' : formatUntil(at, now));
/** `18:05:00Z`; the day is told by the head. */
const clockText = (at: string): string => `${at.slice(11, 19)}Z`;
