import type { Node } from '../contract/index.js';
import { formatBytes, formatCpu, formatUntil, sessionsText } from './format-amounts.js';

/** A node for people: its state and why, what is used of it, who has which device, its drain and its next move. */
export function nodeText(node: Node, now: Date): string {
  const { name, group, state, stateReason, capacity, used, architecture, zone, simulated } = node;
  return [
    `node ${name}: ${state}${stateReason === null ? '' : ` (${stateReason})`}`,
    `  group ${group}, ${architecture}${zone === null ? '' : `, zone ${zone}`}`,
    `  CPU ${formatCpu(used.cpuMilli)}/${formatCpu(capacity.cpuMilli)}, memory ${formatBytes(used.memoryBytes)}/${formatBytes(capacity.memoryBytes)}`,
    ...drainLines(node, now),
    ...moveLines(node, now),
    ...(node.devices.length === 0 ? [] : [`  devices${simulated ? ' (simulated)' : ''}:`]),
    ...node.devices.map((device) => `    ${deviceText(device)}`),
    ...(node.images.length === 0 ? [] : [`  images: ${node.images.filter(isNamed).join(', ')}`]),
  ].join('\n');
}

/** Digests stand beside the names: people read names. */
const isNamed = (image: string): boolean => !image.startsWith('sha256:');

function drainLines({ drain }: Node, now: Date): readonly string[] {
  if (drain === null) return [];
  const { since, reason, actor, deadline, emptyAt, remaining } = drain;
  const empty =
    emptyAt === null ? 'empty' : `${sessionsText(remaining)} left, empty by ${emptyAt} (${formatUntil(emptyAt, now)})`;
  return [
    `  drains since ${since} (${actor}: ${reason}): ${empty}`,
    ...(deadline === null ? [] : [`  at ${deadline} (${formatUntil(deadline, now)}) even protected work is stopped`]),
  ];
}

function moveLines({ move }: Node, now: Date): readonly string[] {
  if (move === null) return [];
  const again = move.repeat === 'none' ? '' : `, ${move.repeat}`;
  return [`  moves to ${move.toGroup} by ${move.at} (${formatUntil(move.at, now)})${again}`];
}

function deviceText({
  id,
  model,
  memoryBytes,
  healthy,
  sharing,
  parentId,
  heldBy,
  shares,
}: Node['devices'][number]): string {
  const free = memoryBytes - shares.reduce((sum, share) => sum + share.memoryBytes, 0);
  const parts = shares.map((share) => `${share.sessionId} ${formatBytes(share.memoryBytes)}`);
  const held = heldBy === null ? undefined : `whole: ${heldBy.sessionId}`;
  const shared = shares.length === 0 ? 'free' : `shared: ${parts.join(', ')} (${formatBytes(free)} free)`;
  const kind = parentId === null ? sharing : `${sharing} of ${parentId}`;
  return `${id}  ${model} ${formatBytes(memoryBytes)}  ${kind}${healthy ? '' : '  BROKEN'}  ${held ?? shared}`;
}
