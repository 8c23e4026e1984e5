/** What stands in kvcached's segment of an engine: bytes of each of its GPUs. */
export interface Segment {
  readonly limitBytes: number;
  readonly usedBytes: number;
  /** Mapped ahead of use; it counts as used up for everybody else. */
  readonly preallocatedBytes: number;
}

/** Three little-endian 64-bit integers. */
export const SEGMENT_BYTES = 24;

export function encodeSegment({ limitBytes, usedBytes, preallocatedBytes }: Segment): Buffer {
  const data = Buffer.alloc(SEGMENT_BYTES);
  [limitBytes, usedBytes, preallocatedBytes].forEach((value, place) => data.writeBigInt64LE(BigInt(value), place * 8));
  return data;
}

/** Undefined for a file that is shorter: it is being made. */
export function decodeSegment(data: Buffer): Segment | undefined {
  if (data.length < SEGMENT_BYTES) return undefined;
  const at = (place: number): number => Number(data.readBigInt64LE(place * 8));
  return { limitBytes: at(0), usedBytes: at(1), preallocatedBytes: at(2) };
}

/** KV cache that is mapped of each GPU, used or not. */
export const mappedBytes = ({ usedBytes, preallocatedBytes }: Segment): number => usedBytes + preallocatedBytes;
