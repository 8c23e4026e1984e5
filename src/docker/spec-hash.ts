import { createHash } from 'node:crypto';
import type { ContainerSpec } from './container-spec.js';

/** Label of every container: two creates with one name are the same create exactly when these agree. */
export const SPEC_HASH_LABEL = 'berth.spec-hash';

/** The order of keys does not matter, the order of lists does. One-way: it tells no environment value. */
export function specHash(spec: ContainerSpec): string {
  return createHash('sha256').update(canonical(spec)).digest('hex');
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part) ? sorted(part) : part,
  );
}

function sorted(record: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
