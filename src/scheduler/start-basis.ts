import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import { listText } from './amount-text.js';
import { endOfTake } from './line-profile.js';
import type { NodeLine } from './node-line.js';
import { type Timeline, viewOf } from './timeline.js';

const NAMED_MAX = 3;

/** Who has to leave the nodes last, and by what: why the start is then and not before. */
export function startBasis(
  timeline: Timeline,
  {
    session,
    kernels,
    atMs,
  }: { readonly session: SnapshotPending; readonly kernels: readonly PlacedKernel[]; readonly atMs: number },
): string {
  const view = viewOf(timeline, session);
  const nodes = [...new Set(kernels.map(({ node }) => node))].toSorted();
  const leave = new Map<string, string>();
  for (const name of nodes) {
    const line = timeline.lines[timeline.indexOf.get(name) ?? -1] as NodeLine;
    for (const lease of line.leases) {
      if (view.endOf(lease) === atMs) leave.set(lease.owner.name, lease.maxMs === atMs ? 'maximum' : 'minimum');
    }
    for (const take of line.takes) {
      if (endOfTake(take, view) === atMs) leave.set(take.owner.name, take.untilMs === atMs ? 'maximum' : 'minimum');
    }
  }
  const where = nodes.length > NAMED_MAX ? `${nodes.length} nodes` : listText(nodes);
  if (leave.size === 0) return `${where}, as soon as its time has come`;
  const names = [...leave.keys()].slice(0, NAMED_MAX);
  const shown = leave.size > names.length ? [...names, `${leave.size - names.length} more`] : names;
  const kinds = [...new Set(leave.values())].toSorted();
  const bound = `${listText(kinds)} runtime`;
  return `${where}, when ${listText(shown)} ${shown.length > 1 ? 'have' : 'has'} left by ${shown.length > 1 ? 'their' : 'its'} ${bound}`;
}
