import type { PoolGpuView } from '../contract/index.js';
import { exactBytes, exactOr } from './exact-bytes.js';
import { renderTable } from './table.js';

type Tenant = PoolGpuView['tenants'][number];
type Part = 'footprint' | 'floor' | 'extra' | 'residue' | 'kept' | 'held' | 'free';

/** Each part has its own mark, so that a bar is read without colours, too. */
const MARKS: Readonly<Record<Part, readonly [mark: string, colour: Colour, says: string]>> = {
  footprint: ['#', 'blue', 'footprint'],
  floor: ['=', 'green', 'KV floor'],
  extra: ['+', 'cyan', 'extra KV'],
  residue: ['z', 'magenta', 'residue asleep'],
  kept: ['k', 'gray', 'kept for its wake'],
  held: ['h', 'yellow', 'room held'],
  free: ['.', 'dim', 'free'],
};
type Colour = 'blue' | 'green' | 'cyan' | 'magenta' | 'gray' | 'yellow' | 'dim';

export interface BarStyle {
  /** Characters of a bar. */
  readonly width: number;
  /** `styleText` of a terminal; the text itself elsewhere. */
  readonly paint: (colour: Colour, text: string) => string;
}
export const PLAIN: BarStyle = { width: 60, paint: (_colour, text) => text };

interface Piece {
  readonly part: Part;
  readonly bytes: number;
}

/** What an engine takes of the bar: F, K, and what its limit lends it above; asleep, what is left there and what is kept. */
function piecesOf(tenant: Tenant): readonly Piece[] {
  const { footprintBytes, kvFloorBytes, limitBytes, residueBytes, phase, isReleased } = tenant;
  if (phase === 'SLEEPING') {
    const left = residueBytes ?? 0;
    const kept = isReleased ? 0 : Math.max(0, footprintBytes + Math.max(kvFloorBytes, limitBytes ?? 0) - left);
    return [
      { part: 'residue', bytes: left },
      { part: 'kept', bytes: kept },
    ];
  }
  const floorBytes = Math.min(kvFloorBytes, limitBytes ?? kvFloorBytes);
  return [
    { part: 'footprint', bytes: footprintBytes },
    { part: 'floor', bytes: Math.max(floorBytes, kvFloorBytes) },
    { part: 'extra', bytes: Math.max(0, (limitBytes ?? 0) - kvFloorBytes) },
  ];
}

/** Cells of each piece by largest remainder, ties to the earlier one; they sum to `width`. What is there has at least one cell. */
export function cellsOf(bytes: readonly number[], width: number): readonly number[] {
  const sum = bytes.reduce((all, each) => all + each, 0);
  if (sum <= 0) return bytes.map(() => 0);
  const exact = bytes.map((each) => (each * width) / sum);
  const cells = exact.map((each) => (each > 0 ? Math.max(1, Math.floor(each)) : 0));
  let left = width - cells.reduce((all, each) => all + each, 0);
  const order = exact.map((each, at) => ({ at, rest: each - Math.floor(each) })).toSorted((a, b) => b.rest - a.rest);
  for (const { at } of order) {
    if (left <= 0) break;
    cells[at] = (cells[at] ?? 0) + 1;
    left -= 1;
  }
  while (left < 0) {
    const most = cells.indexOf(Math.max(...cells));
    cells[most] = (cells[most] ?? 0) - 1;
    left += 1;
  }
  return cells;
}

/** `|` between engines; beyond `usable` nothing is free, and the head says by how much it is over. */
export function barOf(gpu: PoolGpuView, { width, paint }: BarStyle): string {
  const groups = gpu.tenants.map(piecesOf);
  const taken = groups.flat().reduce((sum, { bytes }) => sum + bytes, 0) + gpu.heldBytes;
  const tail: Piece[] = [
    { part: 'held', bytes: gpu.heldBytes },
    { part: 'free', bytes: Math.max(0, (gpu.usableBytes ?? 0) - taken) },
  ];
  const all = [...groups, tail];
  const cells = cellsOf(
    all.flat().map(({ bytes }) => bytes),
    width,
  );
  let at = 0;
  const drawn = all.map((pieces) =>
    pieces
      .map(({ part }) => {
        const [mark, colour] = MARKS[part];
        const text = mark.repeat(cells[at++] ?? 0);
        return text === '' ? '' : paint(colour, text);
      })
      .join(''),
  );
  return `[${drawn.filter((text) => text !== '').join('|')}]`;
}

export const legend = ({ paint }: BarStyle): string =>
  Object.values(MARKS)
    .map(([mark, colour, says]) => `${paint(colour, mark)} ${says}`)
    .join('  ');

function headOf(gpu: PoolGpuView): string {
  const { name, device, usableBytes, promisedBytes, maximumRoomBytes, roomNowBytes, heldBytes, holes } = gpu;
  const held = heldBytes === 0 ? '' : `, ${exactBytes(heldBytes)} held`;
  const sums =
    usableBytes === null
      ? 'not measured'
      : `${exactBytes(usableBytes)} usable, ${exactBytes(promisedBytes)} promised${held}; ${roomText(maximumRoomBytes, roomNowBytes)}`;
  const unknown = holes.length === 0 ? '' : `\n  takes nothing new: ${holes.join(', ')}`;
  return `${name} (${device}): ${sums}${unknown}`;
}

const roomText = (maximum: number, now: number): string =>
  maximum < 0
    ? `${exactBytes(-maximum)} more asked for than there is: a wake waits, or room is made`
    : `room ${exactBytes(maximum)} with everyone at the floor, ${exactBytes(now)} as they are`;

const engineTable = (tenants: readonly Tenant[]): string =>
  renderTable(
    tenants,
    [
      { head: '  MODEL', of: ({ model }) => `  ${model}` },
      { head: 'PHASE', of: ({ phase, isReleased }) => (isReleased ? `${phase} (released)` : phase) },
      { head: 'FOOTPRINT', of: ({ footprintBytes }) => exactBytes(footprintBytes) },
      { head: 'KV-FLOOR', of: ({ kvFloorBytes }) => exactBytes(kvFloorBytes) },
      { head: 'KV-LIMIT', of: ({ limitBytes }) => exactOr(limitBytes) },
      { head: 'KV-USED', of: ({ kvUsedBytes }) => exactBytes(kvUsedBytes) },
      { head: 'RESIDUE', of: ({ residueBytes }) => exactOr(residueBytes) },
      { head: 'RUNNING', of: ({ running }) => (running === null ? '?' : String(running)) },
      { head: 'WAITING', of: ({ waiting }) => (waiting === null ? '?' : String(waiting)) },
    ],
    { isWide: true, now: new Date(0) },
  );

/** Each GPU: its sums, its bar, and a line for each engine on it. */
export function gpuBarsText(gpus: readonly PoolGpuView[], style: BarStyle): string {
  const blocks = gpus.map((gpu) =>
    [
      headOf(gpu),
      ...(gpu.usableBytes === null && gpu.tenants.length === 0 ? [] : [`  ${barOf(gpu, style)}`]),
      ...(gpu.tenants.length === 0 ? ['  no model'] : [engineTable(gpu.tenants)]),
    ].join('\n'),
  );
  return blocks.join('\n\n');
}
