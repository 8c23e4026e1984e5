import type { PoolSnapshot } from '../contract/index.js';
import type { Bytes } from './tenant.js';

/** Room of a GPU that is kept for claims that are to come, as the ledger has it. */
export const heldOn = ({ holds }: Pick<PoolSnapshot, 'holds'>, gpu: string): Bytes =>
  holds.reduce((sum, { gpus, bytes }) => sum + (gpus.includes(gpu) ? bytes : 0), 0);
