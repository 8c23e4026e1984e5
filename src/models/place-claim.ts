import { accountOf, admits } from './account.js';
import type { Bytes, PoolGpu } from './tenant.js';

export interface PlacementRules {
  readonly placement: 'spread' | 'pack';
  readonly releases: boolean;
}

/** What is asked of one GPU for a claim's instance. */
export interface ClaimAsk {
  readonly model: string;
  /** F + K. */
  readonly needBytes: Bytes;
  /** GPUs where its instance failed just now, or a replica of it stands. */
  readonly avoid: ReadonlySet<string>;
  /** GPUs whose node holds its artifact already. */
  readonly cachedOn: ReadonlySet<string>;
}

export type ClaimPlacement =
  | { readonly outcome: 'placed'; readonly gpu: string; readonly because: string }
  | { readonly outcome: 'too-large'; readonly largestBytes: Bytes; readonly message: string }
  | { readonly outcome: 'no-room'; readonly nearest: string | null; readonly message: string };

/**
 * Where an instance goes among the GPUs that admit it: where its artifact is cached, then `spread` (fewest awake, then most
 * room) or `pack` (least room that fits), then by name. Never where it just failed.
 */
export function placeClaim(gpus: readonly PoolGpu[], ask: ClaimAsk, rules: PlacementRules): ClaimPlacement {
  const largestBytes = gpus.reduce((most, { usableBytes }) => Math.max(most, usableBytes), 0);
  if (gpus.length > 0 && ask.needBytes > largestBytes) {
    const message = `${ask.model} needs ${gib(ask.needBytes)}; the largest GPU of the pool has ${gib(largestBytes)}`;
    return { outcome: 'too-large', largestBytes, message };
  }
  const open = gpus
    .filter((gpu) => !ask.avoid.has(gpu.name) && admits(gpu, ask.needBytes, rules.releases))
    .toSorted(
      (a, b) =>
        Number(ask.cachedOn.has(b.name)) - Number(ask.cachedOn.has(a.name)) ||
        byPolicy(a, b, rules) ||
        (a.name < b.name ? -1 : 1),
    );
  const best = open[0];
  if (best === undefined) return noRoom(gpus, ask, rules);
  const cached = ask.cachedOn.has(best.name) ? 'its artifact is there; ' : '';
  const { maximumRoomBytes } = accountOf(best, rules.releases);
  const policy = rules.placement === 'spread' ? `${awakeOn(best)} awake` : 'the least room that fits';
  return { outcome: 'placed', gpu: best.name, because: `${cached}${policy}, room ${gib(maximumRoomBytes)}` };
}

function byPolicy(a: PoolGpu, b: PoolGpu, { placement, releases }: PlacementRules): number {
  const roomA = accountOf(a, releases).maximumRoomBytes;
  const roomB = accountOf(b, releases).maximumRoomBytes;
  return placement === 'spread' ? awakeOn(a) - awakeOn(b) || roomB - roomA : roomA - roomB;
}

const awakeOn = ({ tenants }: PoolGpu): number => tenants.filter(({ phase }) => phase !== 'SLEEPING').length;

/** The need, the nearest GPU and its sum, and how many others have less; holes are named. */
function noRoom(gpus: readonly PoolGpu[], ask: ClaimAsk, { releases }: PlacementRules): ClaimPlacement {
  const known = gpus
    .filter(({ holes, name }) => holes.length === 0 && !ask.avoid.has(name))
    .map((gpu) => ({ gpu, account: accountOf(gpu, releases) }))
    .toSorted((a, b) => b.account.maximumRoomBytes - a.account.maximumRoomBytes || (a.gpu.name < b.gpu.name ? -1 : 1));
  const nearest = known[0];
  const unknown = gpus.filter(({ holes }) => holes.length > 0).map(({ name, holes }) => `${name}: ${holes.join(', ')}`);
  const parts = [`${ask.model} needs ${gib(ask.needBytes)}`];
  if (nearest !== undefined) {
    const { maximumRoomBytes, roomNowBytes } = nearest.account;
    const floor = `${nearest.gpu.name} could offer at most ${gib(Math.max(0, maximumRoomBytes))} with every neighbour at its floor`;
    const busy = maximumRoomBytes >= ask.needBytes ? `, and ${gib(Math.max(0, roomNowBytes))} as they are now` : '';
    parts.push(`${floor}${busy}`);
    if (known.length > 1) parts.push(`${known.length - 1} other GPUs less`);
  }
  if (unknown.length > 0) parts.push(`not known: ${unknown.join('; ')}`);
  if (gpus.length === 0) parts.push('the pool has no GPU');
  return { outcome: 'no-room', nearest: nearest?.gpu.name ?? null, message: parts.join('; ') };
}

const gib = (bytes: Bytes): string => `${Math.round((bytes / 2 ** 30) * 10) / 10} GiB`;
