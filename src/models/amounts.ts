import type { Bytes } from './tenant.js';

/** As people read it: GiB with one decimal. */
export const gib = (bytes: Bytes): string => `${Math.round((bytes / 2 ** 30) * 10) / 10} GiB`;

export const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
