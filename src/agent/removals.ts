import type { Containers } from '../docker/containers.js';
import { containerName } from './kernel-container.js';
import type { Turns } from './turns.js';

interface Removal {
  readonly sessionId: string;
  readonly attempt: number;
  readonly kernelIds: readonly string[];
  readonly graceMs: number;
}

export interface Removals {
  /**
   * One at a time a session. One that leaves less time than those that are under way cuts them short: it ends the
   * containers by its own grace first, whatever they were given before. Run again it does so once more.
   */
  readonly run: <Order extends Removal>(order: Order, remove: () => Promise<void>) => Promise<void>;
}

export function createRemovals(turns: Pick<Turns, 'end'>, containers: Pick<Containers, 'inspect' | 'stop'>): Removals {
  /** The graces of those that are under way, by session. */
  const underWay = new Map<string, readonly number[]>();

  const cutShort = async ({ kernelIds, attempt, graceMs }: Removal): Promise<void> => {
    const names = kernelIds.map((kernelId) => containerName({ kernelId, attempt }));
    await Promise.all(names.map((name) => stop(name, graceMs / 1000)));
  };
  /** Of another node on this engine nothing is touched: `inspect` does not see it. */
  const stop = async (name: string, graceSeconds: number): Promise<void> => {
    if ((await containers.inspect(name)) !== undefined) await containers.stop(name, { graceSeconds });
  };
  const begin = ({ sessionId, graceMs }: Removal): void => {
    underWay.set(sessionId, [...(underWay.get(sessionId) ?? []), graceMs]);
  };
  const end = ({ sessionId, graceMs }: Removal): void => {
    const left = [...(underWay.get(sessionId) ?? [])];
    left.splice(left.indexOf(graceMs), 1);
    if (left.length === 0) underWay.delete(sessionId);
    else underWay.set(sessionId, left);
  };

  return {
    run: async (order, remove) => {
      const others = underWay.get(order.sessionId) ?? [];
      begin(order);
      try {
        if (others.length > 0 && order.graceMs < Math.min(...others)) await cutShort(order);
        await turns.end(order.sessionId, remove);
      } finally {
        end(order);
      }
    },
  };
}
