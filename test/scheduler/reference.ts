import { QUOTA_SLOTS } from '../../src/contract/quota.js';
import type { Slots } from '../../src/contract/slots.js';
import type { Snapshot, SnapshotNode, SnapshotPending } from '../../src/contract/snapshot.js';

/**
 * The rules of docs/scheduling.md in the most obvious form, for single-node sessions: copies everything, sorts every
 * time. It says who is placed on which node and devices, who waits for which class of reason, and who blocks.
 */
export interface ReferencePlan {
  readonly placed: readonly { readonly id: string; readonly node: string; readonly devices: readonly string[] }[];
  readonly waiting: readonly { readonly id: string; readonly reason: string }[];
  readonly blockedBy: string | null;
}

interface Free {
  readonly node: SnapshotNode;
  cpuMilli: number;
  memoryBytes: number;
  devices: { id: string; model: string; memoryBytes: number }[];
}

const freeOf = (node: SnapshotNode, ignoreUse: boolean, broken: boolean): Free => ({
  node,
  cpuMilli: node.capacity.cpuMilli - (ignoreUse ? 0 : node.used.cpuMilli),
  memoryBytes: node.capacity.memoryBytes - (ignoreUse ? 0 : node.used.memoryBytes),
  devices: node.devices.filter((device) => (broken || device.healthy) && (ignoreUse || device.heldBy === null)),
});

const sum = (session: SnapshotPending, slot: keyof Slots): number =>
  session.kernels.reduce((total, kernel) => total + kernel.slots[slot], 0);

const usable = (session: SnapshotPending, free: Free) =>
  free.devices.filter((device) => session.gpuModel === null || device.model === session.gpuModel);

const matches = (session: SnapshotPending, free: Free): boolean =>
  session.architecture === null || session.architecture === free.node.architecture;

const fits = (session: SnapshotPending, free: Free): boolean =>
  matches(session, free) &&
  free.cpuMilli >= sum(session, 'cpuMilli') &&
  free.memoryBytes >= sum(session, 'memoryBytes') &&
  usable(session, free).length >= sum(session, 'gpuCount');

const unused = (session: SnapshotPending, { node }: Free): number =>
  Number(sum(session, 'cpuMilli') === 0 && node.capacity.cpuMilli > 0) +
  Number(sum(session, 'memoryBytes') === 0 && node.capacity.memoryBytes > 0) +
  Number(sum(session, 'gpuCount') === 0 && node.devices.length > 0);

const left = (free: Free): Slots => ({
  cpuMilli: free.cpuMilli,
  memoryBytes: free.memoryBytes,
  gpuCount: free.devices.length,
  gpuMemoryBytes: free.devices.reduce((total, device) => total + device.memoryBytes, 0),
});

export function referencePlan(snapshot: Snapshot): ReferencePlan {
  const { policy } = snapshot.group;
  const sign = policy.placement === 'dispersed' ? 1 : -1;
  const ready = snapshot.nodes.filter((node) => node.state === 'READY');
  const known = snapshot.nodes.filter((node) => node.capacity.cpuMilli > 0);
  const frees = ready.map((node) => freeOf(node, false, false));
  const held = snapshot.quotas.map((quota) => ({ ...quota, held: { ...quota.held } }));
  const placed: { id: string; node: string; devices: string[] }[] = [];
  const waiting: { id: string; reason: string }[] = [];

  const never = (session: SnapshotPending): string | null => {
    if (known.length === 0) return null;
    const whole = known.map((node) => freeOf(node, true, true));
    const right = whole.filter((free) => matches(session, free));
    const needsModel = sum(session, 'gpuCount') > 0 && session.gpuModel !== null;
    if (right.length === 0 || (needsModel && right.every((free) => usable(session, free).length === 0)))
      return 'no_matching_device';
    return right.some((free) => fits(session, free)) ? null : 'too_large_for_any_node';
  };
  const quotasOf = (session: SnapshotPending) =>
    (['user', 'project', 'domain'] as const).flatMap((scope) =>
      held.filter((quota) => quota.scope === scope && quota.id === session[`${scope}Id`]),
    );
  const asked = (session: SnapshotPending, slot: (typeof QUOTA_SLOTS)[number]): number =>
    slot === 'sessions' ? 1 : sum(session, slot);
  const overQuota = (session: SnapshotPending): string | null => {
    const first = quotasOf(session).find((quota) =>
      QUOTA_SLOTS.some(
        (slot) =>
          asked(session, slot) > 0 && quota.held[slot] + asked(session, slot) > (quota.limits[slot] ?? Infinity),
      ),
    );
    return first === undefined ? null : `${first.scope}_quota`;
  };

  const queue = snapshot.pending.toSorted(
    (a, b) =>
      b.priority - a.priority || Date.parse(a.submittedAt) - Date.parse(b.submittedAt) || (a.id < b.id ? -1 : 1),
  );
  for (const session of queue) {
    const hold = policy.paused ? 'queue_paused' : overQuota(session);
    if (hold !== null) {
      waiting.push({ id: session.id, reason: never(session) ?? hold });
      continue;
    }
    const [best] = frees
      .filter((free) => fits(session, free))
      .toSorted(
        (a, b) =>
          unused(session, a) - unused(session, b) ||
          policy.slotOrder.map((slot) => (left(b)[slot] - left(a)[slot]) * sign).find((more) => more !== 0) ||
          (a.node.name < b.node.name ? -1 : 1),
      );
    if (best !== undefined) {
      const devices = usable(session, best).slice(0, sum(session, 'gpuCount'));
      best.devices = best.devices.filter((device) => !devices.includes(device));
      best.cpuMilli -= sum(session, 'cpuMilli');
      best.memoryBytes -= sum(session, 'memoryBytes');
      for (const quota of quotasOf(session)) for (const slot of QUOTA_SLOTS) quota.held[slot] += asked(session, slot);
      placed.push({ id: session.id, node: best.node.name, devices: devices.map(({ id }) => id) });
      continue;
    }
    const lasting =
      never(session) ?? (ready.some((node) => fits(session, freeOf(node, true, false))) ? null : 'no_schedulable_node');
    if (lasting !== null) {
      waiting.push({ id: session.id, reason: lasting });
      continue;
    }
    const open = frees.filter((free) => matches(session, free));
    const inAll = (amount: (free: Free) => number): number =>
      open.reduce((total, free) => total + Math.max(0, amount(free)), 0);
    const suffices =
      inAll((free) => usable(session, free).length) >= sum(session, 'gpuCount') &&
      inAll((free) => free.cpuMilli) >= sum(session, 'cpuMilli') &&
      inAll((free) => free.memoryBytes) >= sum(session, 'memoryBytes');
    waiting.push({ id: session.id, reason: suffices ? 'fragmented' : 'insufficient_capacity' });
    return { placed, waiting, blockedBy: session.id };
  }
  return { placed, waiting, blockedBy: null };
}
