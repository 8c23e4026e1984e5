import type { DeviceGuarantees, Sharing } from '../contract/index.js';

const WHOLE: DeviceGuarantees = { memory: 'enforced', compute: 'exclusive', faults: 'isolated' };

const OF_SHARES: Readonly<Record<Sharing, DeviceGuarantees>> = {
  mig: WHOLE,
  mps: { memory: 'enforced', compute: 'together', faults: 'shared' },
  'memory-limit': { memory: 'enforced', compute: 'in-turns', faults: 'isolated' },
  none: { memory: 'not-enforced', compute: 'in-turns', faults: 'isolated' },
};

/** What a device promises to who has a share of it under this mode; null: to who has it whole. */
export const guaranteesOf = (sharing: Sharing | null): DeviceGuarantees =>
  sharing === null ? WHOLE : OF_SHARES[sharing];
