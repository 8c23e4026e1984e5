import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeviceUsage } from '../contract/index.js';
import type { DeviceLoad } from '../devices/device-provider.js';

/**
 * What drivers tell of a moment, as counters that only grow: a moment stands for the time since the one before it. Kept in a
 * file, so that they go on where they were told last when the agent starts anew.
 */
export interface DeviceCounters {
  /** `elapsedMs` 0: nothing was observed since the last moment. A load that is not known counts as not observed. */
  readonly add: (loads: readonly DeviceLoad[], elapsedMs: number) => void;
  /** Of the devices that the last moment told of. */
  readonly read: () => readonly DeviceUsage[];
  readonly save: () => Promise<void>;
}

interface Counter {
  busyMs: number;
  observedMs: number;
}

const FILE = 'device-counters.json';

export async function openDeviceCounters(stateDir: string): Promise<DeviceCounters> {
  const path = join(stateDir, FILE);
  const counters = new Map<string, Counter>(Object.entries(await readCounters(path)));
  let latest: readonly DeviceLoad[] = [];
  return {
    add: (loads, elapsedMs) => {
      latest = loads;
      for (const { id, busyPercent } of loads) {
        const counter = counters.get(id) ?? { busyMs: 0, observedMs: 0 };
        counters.set(id, counter);
        if (busyPercent === null) continue;
        counter.observedMs += elapsedMs;
        counter.busyMs += (elapsedMs * busyPercent) / 100;
      }
    },
    read: () =>
      latest.map(({ id, memoryBytes }) => {
        const { busyMs = 0, observedMs = 0 } = counters.get(id) ?? {};
        return { id, busyMs: Math.round(busyMs), observedMs: Math.round(observedMs), memoryBytes };
      }),
    save: async () => {
      await writeFile(`${path}.new`, JSON.stringify(Object.fromEntries(counters)));
      await rename(`${path}.new`, path); // half a file is never read
    },
  };
}

/** No file, or one that is none of ours: they begin at 0, and the ledger sees that. */
async function readCounters(path: string): Promise<Record<string, Counter>> {
  try {
    const read: unknown = JSON.parse(await readFile(path, 'utf8'));
    const known = Object.entries(read as Record<string, Partial<Counter> | null>).flatMap(([id, counter]) =>
      Number.isFinite(counter?.busyMs) && Number.isFinite(counter?.observedMs) ? [[id, counter as Counter]] : [],
    );
    return Object.fromEntries(known) as Record<string, Counter>;
  } catch {
    return {};
  }
}
