import type { Berth } from './berth.js';

/** One kill and what must hold after it. It leaves no session open; the closing check follows each. */
export interface ChaosCase {
  readonly title: string;
  /** About how long it takes on two cores: the sample of `npm test` is chosen within a sum of these. */
  readonly seconds: number;
  /** Not in the sample of `npm test`: too long for it, or too new to be held against whoever changed something else. */
  readonly onlyWhole?: true;
  /** `private`: on a container engine of its own, which it may stop. `two-nodes`: on two nodes, of which it may lose one. */
  readonly stage?: 'shared' | 'private' | 'two-nodes';
  readonly run: (berth: Berth) => Promise<void>;
}

/** True with `npm run test:chaos`: every case, and the long outages. */
export const IS_WHOLE = process.env['BERTH_CHAOS'] === 'all';
