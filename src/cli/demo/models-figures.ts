import type { ModelClaim, PoolGpuView } from '../../contract/index.js';

const GIB = 2 ** 30;
/** Figures are told to two places (three where a thing is halved). */
const NEAR_GIB = 0.01;

/** What a look saw: the one GPU of the pool, and the claims. */
export interface SeenModels {
  readonly gpu: PoolGpuView | undefined;
  readonly claims: readonly ModelClaim[];
}

/** What must be seen. Amounts are in GiB, to 0.01; what is not named may be anything. */
export interface Figures {
  /** Promised: the reservations that stand. */
  readonly ledger?: number;
  /** What it could offer with everyone at the floor, less what is held. */
  readonly room?: number;
  readonly held?: number;
  readonly limits?: Readonly<Record<string, number>>;
  readonly phases?: Readonly<Record<string, string>>;
  /** The code of the claim's reason. */
  readonly reasons?: Readonly<Record<string, string>>;
  readonly residues?: Readonly<Record<string, number>>;
}

export const gib = (bytes: number): number => bytes / GIB;
export const gibText = (amount: number): string => `${Number(amount.toFixed(3))} GiB`;

type Wanted = number | string;
type Found = number | string | undefined;

/** What of it does not hold, as `expected …, seen …` lines. */
export function differencesOf(figures: Figures, { gpu, claims }: SeenModels): readonly string[] {
  const tenant = (model: string) => gpu?.tenants.find((each) => each.model === model);
  const claim = (model: string) => claims.find(({ modelName }) => modelName === model);
  const amount = (bytes: number | null | undefined): Found => (typeof bytes === 'number' ? gib(bytes) : undefined);
  const rows: readonly (readonly [what: string, wanted: Wanted | undefined, found: Found])[] = [
    ['the ledger', figures.ledger, amount(gpu?.promisedBytes)],
    ['the room', figures.room, amount(gpu?.maximumRoomBytes)],
    ['the room that is held', figures.held, amount(gpu?.heldBytes)],
    ...each(figures.limits, 'the limit of', (model) => amount(tenant(model)?.limitBytes)),
    ...each(figures.residues, 'the residue of', (model) => amount(tenant(model)?.residueBytes)),
    ...each(figures.phases, 'the phase of', (model) => claim(model)?.phase),
    ...each(figures.reasons, 'the reason of', (model) => claim(model)?.reason?.code),
  ];
  return rows.flatMap(([what, wanted, found]) =>
    wanted === undefined || isSame(wanted, found)
      ? []
      : [`expected: ${what} is ${shown(wanted)}; seen: ${found === undefined ? 'nothing' : shown(found)}`],
  );
}

const each = <Value extends Wanted>(
  wanted: Readonly<Record<string, Value>> | undefined,
  what: string,
  found: (model: string) => Found,
): readonly (readonly [string, Wanted, Found])[] =>
  Object.entries(wanted ?? {}).map(([model, value]) => [`${what} ${model}`, value, found(model)] as const);

const isSame = (wanted: Wanted, found: Found): boolean =>
  typeof wanted === 'number' ? typeof found === 'number' && Math.abs(found - wanted) <= NEAR_GIB : found === wanted;

const shown = (value: Wanted): string => (typeof value === 'number' ? gibText(value) : value);
