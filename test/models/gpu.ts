import type { PoolGpu, Tenant } from '../../src/models/tenant.js';

const GIB = 2 ** 30;
/** Whole bytes of so many GiB. */
export const gib = (amount: number): number => Math.round(amount * GIB);
/** Bytes as GiB with three decimals, as the spec writes them. */
export const inGib = (bytes: number): number => Math.round((bytes / GIB) * 1000) / 1000;

export const IDLE = { running: 0, waiting: 0 };
export const BUSY = { running: 3, waiting: 1 };

/** An idle awake engine of 30 + 10 GiB. */
export const tenant = (model: string, change: Partial<Tenant> = {}): Tenant => ({
  id: model,
  model,
  phase: 'ACTIVE',
  footprintBytes: gib(30),
  kvFloorBytes: gib(10),
  kvMaxBytes: null,
  priority: 0,
  kvUsedBytes: 0,
  residueBytes: null,
  isWakeAsked: false,
  load: IDLE,
  limitBytes: null,
  ...change,
});

export const asleep = (model: string, change: Partial<Tenant> = {}): Tenant =>
  tenant(model, { phase: 'SLEEPING', residueBytes: gib(1.33), ...change });

export const gpu = (tenants: readonly Tenant[], change: Partial<PoolGpu> = {}): PoolGpu => ({
  name: 'h20-a/0',
  usableBytes: gib(95.1),
  heldBytes: 0,
  holes: [],
  tenants,
  ...change,
});
