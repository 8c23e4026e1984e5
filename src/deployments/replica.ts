/** Where a replica stands for the endpoint's traffic. */
export type RouteState = 'PROVISIONING' | 'WARMING' | 'ACTIVE' | 'DRAINING' | 'ENDED';
export type Health = 'unknown' | 'healthy' | 'degraded' | 'unhealthy';

/** A session of kind `inference` as its deployment sees it. Moments are ms of one clock. */
export interface Replica {
  readonly id: string;
  readonly revision: number;
  readonly createdMs: number;
  /** Its container runs since; null: it waits for a GPU, or starts. */
  readonly startedMs: number | null;
  /** Its first success; null: none yet. */
  readonly servingMs: number | null;
  readonly route: RouteState;
  readonly health: Health;
  /** A gateway was refused its last connection: the node may have vanished, though the ledger does not know it yet. */
  readonly isRefused: boolean;
}

/** From its creation, also while it waits for a GPU, until it is marked to end. */
export const isLive = ({ route }: Pick<Replica, 'route'>): boolean => route !== 'DRAINING' && route !== 'ENDED';

/** Live, and it does not have to be replaced. */
export const isSound = (replica: Pick<Replica, 'route' | 'health'>): boolean =>
  isLive(replica) && replica.health !== 'unhealthy';

/** It gets requests: a degraded one as the last choice. */
export const serves = ({ route, health }: Pick<Replica, 'route' | 'health'>): boolean =>
  route === 'ACTIVE' && (health === 'healthy' || health === 'degraded');

/** Since its first success; 0 before. */
export const servedMs = ({ servingMs }: Pick<Replica, 'servingMs'>, nowMs: number): number =>
  servingMs === null ? 0 : Math.max(0, nowMs - servingMs);
