import { type DeviceTable, isFree, MAY, shareRoom } from './device-table.js';

/** Most steps of one exact search for the shares of several kernels on one node. */
const PACK_STEPS = 20_000;

/** Devices that several kernels need on one node: whole ones in all, and each share (largest first). */
export interface DeviceNeed {
  readonly gpuCount: number;
  readonly shares: readonly number[];
}

/** The device of each share, by place on the node, and the whole ones. */
export interface Packing {
  readonly whole: readonly number[];
  readonly shares: readonly number[];
}

interface Bin {
  readonly place: number;
  readonly one: boolean;
  room: number;
}

interface Look {
  /** The model's number; -1 for any. */
  readonly model: number;
}

const isOf = (devices: DeviceTable, d: number, model: number): boolean => model === -1 || devices.model[d] === model;

/** The first free devices by place, or null when there are too few. */
export function wholeDevices(
  devices: DeviceTable,
  i: number,
  { model, count }: Look & { readonly count: number },
): readonly number[] | null {
  const start = devices.start[i] as number;
  const end = devices.start[i + 1] as number;
  const found: number[] = [];
  for (let d = start; d < end && found.length < count; d += 1) {
    if (((devices.may[d] as number) & MAY.whole) !== 0 && isFree(devices, d) && isOf(devices, d, model))
      found.push(d - start);
  }
  return found.length === count ? found : null;
}

/**
 * The device that a share goes to: the fullest that it fits (least left after it), then one that is shared already
 * before an empty one, then the lowest place. -1 when none takes it.
 */
export function shareDevice(
  devices: DeviceTable,
  i: number,
  { model, bytes }: Look & { readonly bytes: number },
): number {
  const start = devices.start[i] as number;
  const end = devices.start[i + 1] as number;
  let best = -1;
  let bestRoom = 0;
  for (let d = start; d < end; d += 1) {
    if (!isOf(devices, d, model)) continue;
    const room = shareRoom(devices, d);
    if (room < bytes) continue;
    if (best < 0 || room < bestRoom || (room === bestRoom && isFree(devices, best) && !isFree(devices, d))) {
      best = d;
      bestRoom = room;
    }
  }
  return best < 0 ? -1 : best - start;
}

export function packShares(
  devices: DeviceTable,
  i: number,
  { unit, model }: Look & { readonly unit: DeviceNeed },
): 'fits' | 'none' | 'gave-up' {
  const packing = packDevices(devices, i, { unit, model });
  return typeof packing === 'string' ? packing : 'fits';
}

/**
 * Whole devices and shares together, exactly. Whole ones are those of least use to shares: which take none, then the
 * smallest; any other choice leaves the shares no more room. Shares go largest first to the fullest device that fits.
 */
export function packDevices(
  devices: DeviceTable,
  i: number,
  { unit, model }: Look & { readonly unit: DeviceNeed },
): Packing | 'none' | 'gave-up' {
  const start = devices.start[i] as number;
  const whole = wholeForShares(devices, i, { unit, model });
  if (whole.length < unit.gpuCount) return 'none';
  const shares = packInto(binsOf(devices, i, { model, whole }), unit.shares);
  return typeof shares === 'string' ? shares : { whole: whole.map((d) => d - start).toSorted((a, b) => a - b), shares };
}

/** Those to be had whole, of least use to shares; fewer than are needed where there are no more. */
function wholeForShares(
  devices: DeviceTable,
  i: number,
  { unit, model }: Look & { readonly unit: DeviceNeed },
): number[] {
  const free: number[] = [];
  for (let d = devices.start[i] as number; d < (devices.start[i + 1] as number); d += 1) {
    if (((devices.may[d] as number) & MAY.whole) !== 0 && isFree(devices, d) && isOf(devices, d, model)) free.push(d);
  }
  const useToShares = (d: number): number =>
    ((devices.may[d] as number) & MAY.share) === 0 ? 0 : (devices.memoryBytes[d] as number);
  return free.toSorted((a, b) => useToShares(a) - useToShares(b) || a - b).slice(0, unit.gpuCount);
}

/** Devices that take shares but for the whole ones, the fullest first, then those that are shared, then by place. */
function binsOf(
  devices: DeviceTable,
  i: number,
  { model, whole }: Look & { readonly whole: readonly number[] },
): Bin[] {
  const start = devices.start[i] as number;
  const bins: Bin[] = [];
  for (let d = start; d < (devices.start[i + 1] as number); d += 1) {
    const room = isOf(devices, d, model) && !whole.includes(d) ? shareRoom(devices, d) : 0;
    if (room > 0) bins.push({ place: d - start, one: ((devices.may[d] as number) & MAY.one) !== 0, room });
  }
  const free = ({ place }: Bin): number => Number(isFree(devices, start + place));
  return bins.toSorted((a, b) => a.room - b.room || free(a) - free(b) || a.place - b.place);
}

/**
 * Where whole devices and shares do not fit together: the first share that finds no device when the larger ones are
 * placed, and the most that one device still takes. null where all shares find one.
 */
export function firstUnpacked(
  devices: DeviceTable,
  i: number,
  { unit, model }: Look & { readonly unit: DeviceNeed },
): { readonly need: number; readonly free: number } | null {
  const bins = binsOf(devices, i, { model, whole: wholeForShares(devices, i, { unit, model }) });
  if (
    typeof packInto(
      bins.map((bin) => ({ ...bin })),
      unit.shares,
    ) !== 'string'
  )
    return null;
  for (const need of unit.shares) {
    const fitting = bins.filter(({ room }) => room >= need).toSorted((a, b) => a.room - b.room);
    const [bin] = fitting;
    if (bin === undefined) return { need, free: Math.max(0, ...bins.map(({ room }) => room)) };
    bin.room = bin.one ? 0 : bin.room - need;
  }
  return null;
}

/** The place of each share, largest first; of equal shares and equal rooms only one order is tried. */
function packInto(bins: readonly Bin[], shares: readonly number[]): readonly number[] | 'none' | 'gave-up' {
  const binOf = new Array<number>(shares.length).fill(-1);
  let steps = 0;
  const put = (k: number): boolean => {
    const bytes = shares[k];
    if (bytes === undefined) return true;
    if (!mayFit(bins, shares, k)) return false;
    const tried = new Set<number>();
    for (let b = bytes === shares[k - 1] ? (binOf[k - 1] as number) : 0; b < bins.length; b += 1) {
      const bin = bins[b] as Bin;
      const { room } = bin;
      if (room < bytes || tried.has(bin.one ? -room : room)) continue;
      tried.add(bin.one ? -room : room);
      steps += 1;
      if (steps > PACK_STEPS) return false;
      bin.room = bin.one ? 0 : room - bytes;
      binOf[k] = b;
      if (put(k + 1)) return true;
      bin.room = room;
    }
    return false;
  };
  if (put(0)) return binOf.map((b) => (bins[b] as Bin).place);
  return steps > PACK_STEPS ? 'gave-up' : 'none';
}

/** Bounds for shares `from`.. : their sum, and how many of the smallest fit. The second is exact where all are equal. */
function mayFit(bins: readonly Bin[], shares: readonly number[], from: number): boolean {
  let bytes = 0;
  for (let k = from; k < shares.length; k += 1) bytes += shares[k] as number;
  let count = shares.length - from;
  const least = shares.at(-1) as number;
  for (const { room, one } of bins) {
    if (room < least) continue;
    bytes -= room;
    count -= one ? 1 : Math.floor(room / least);
  }
  return bytes <= 0 && count <= 0;
}
