import type { ModelSuggestion } from '../contract/index.js';
import { gib } from './amounts.js';
import type { Bytes } from './tenant.js';

/** Above what was seen, so that a little more does not break it. */
const FOOTPRINT_HEADROOM = 0.05;
const STEP_BYTES = 2 ** 28;
/** Fewer looks (10 s each) say little of a load. */
const LOOKS_MIN = 30;

interface Claimed {
  readonly modelName: string;
  readonly maximumFootprintBytes: Bytes;
  readonly kvFloorBytes: Bytes;
}

/**
 * `perGpu` from the most that was seen while it served: the footprint with 5 % above it, the floor as half of the KV cache that
 * was in use at most, since neighbours lend the rest; both up to the next 256 MiB. null where nothing was measured.
 */
export function suggestPerGpu(claim: Claimed, measured: ModelSuggestion['measured']): ModelSuggestion {
  const { footprintBytes, kvUsedBytes, looks } = measured;
  const maximumFootprintBytes = footprintBytes === null ? null : stepUp(footprintBytes * (1 + FOOTPRINT_HEADROOM));
  const kvFloorBytes = kvUsedBytes === null || kvUsedBytes === 0 ? null : stepUp(kvUsedBytes / 2);
  const suggested = { maximumFootprintBytes, kvFloorBytes };
  return { model: claim.modelName, ...suggested, measured, message: messageOf(claim, { ...suggested, looks }) };
}

const stepUp = (bytes: Bytes): Bytes => Math.ceil(bytes / STEP_BYTES) * STEP_BYTES;

function messageOf(
  claim: Claimed,
  {
    maximumFootprintBytes: f,
    kvFloorBytes: k,
    looks,
  }: { readonly maximumFootprintBytes: Bytes | null; readonly kvFloorBytes: Bytes | null; readonly looks: number },
): string {
  if (f === null && k === null) return 'nothing was measured yet: let it serve for a while';
  const parts = [
    f === null ? 'its footprint was not measured' : `footprint ${compared(claim.maximumFootprintBytes, f)}`,
    k === null ? 'no KV cache was in use' : `KV floor ${compared(claim.kvFloorBytes, k)}`,
  ];
  const few = looks < LOOKS_MIN ? `; only ${looks} looks so far: not much of a load` : '';
  return `${parts.join(', ')}${few}`;
}

function compared(claimed: Bytes, suggested: Bytes): string {
  if (claimed === suggested) return `${gib(claimed)} is right`;
  const by = gib(Math.abs(claimed - suggested));
  return `${gib(claimed)} → ${gib(suggested)} (${suggested < claimed ? `${by} less` : `${by} more`})`;
}
