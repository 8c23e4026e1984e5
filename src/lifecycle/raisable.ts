import type { LimitResult } from '../contract/index.js';

export interface LimitToWrite {
  readonly instanceId: string;
  readonly toBytes: number;
  readonly gpus: readonly string[];
}

/**
 * Which raises may go out after the lowers were written and read back: on a GPU where one of them is not in force (another
 * limit, more in use than it, or nobody knows) nothing rises, so no instant promises more than the GPU has.
 */
export function raisable<Write extends LimitToWrite>(
  { lower, raise }: { readonly lower: readonly LimitToWrite[]; readonly raise: readonly Write[] },
  lowered: readonly LimitResult[] | 'unreachable',
): readonly Write[] {
  const open = lower.filter((write) => lowered === 'unreachable' || !isInForce(write, lowered));
  const closed = new Set(open.flatMap(({ gpus }) => gpus));
  return raise.filter(({ gpus }) => !gpus.some((gpu) => closed.has(gpu)));
}

/** A lower limit evicts nothing: it holds from when the engine has come down to it. */
function isInForce({ instanceId, toBytes }: LimitToWrite, results: readonly LimitResult[]): boolean {
  const result = results.find((one) => one.instanceId === instanceId);
  return result?.limitBytes === toBytes && result.kvUsedBytes !== null && result.kvUsedBytes <= toBytes;
}
