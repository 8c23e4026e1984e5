import { accountOf, heldOf, reserveOf } from './account.js';
import { type Engine, type Gpu, type PoolState, STILL_LEAVING } from './pool-state.js';
import { gainOf } from './sleepers.js';
import { type Bytes, residueOf } from './tenant.js';

/** The smaller of both rooms, with every wake that is not met yet still asleep. */
export function roomWithoutAsks(gpu: Gpu, releases: boolean): Bytes {
  let promised = 0;
  let held = 0;
  for (const tenant of gpu.tenants) {
    const residue = tenant.isWakeAsked && releases ? residueOf(tenant) : null;
    promised += residue ?? reserveOf(tenant, releases);
    held += residue ?? heldOf(tenant, releases);
  }
  return gpu.usableBytes - gpu.heldBytes - Math.max(promised, held);
}

/** The smaller of both rooms as the ledger has it: with every asked wake charged. */
export function roomWithAsks(gpu: Gpu, releases: boolean): Bytes {
  const { maximumRoomBytes, roomNowBytes } = accountOf(gpu, releases);
  return Math.min(maximumRoomBytes, roomNowBytes);
}

/** What comes once those that go to sleep, or leave, have done so. */
export function comingOn(gpu: Gpu, releases: boolean): Bytes {
  let bytes = 0;
  for (const tenant of gpu.tenants) {
    if (tenant.phase === 'STOPPING') bytes += Math.min(reserveOf(tenant, releases), heldOf(tenant, releases));
    else if (tenant.order === 'sleep' && releases) bytes += gainOf(tenant);
  }
  return bytes;
}

/** What nobody can count on: nothing is written there, and nobody wakes. One that leaves is in the account, and no reason. */
export const isBlind = ({ holes }: Gpu): boolean => holes.some((hole) => !hole.startsWith(STILL_LEAVING));

/** Asked wakes take room from here in their order, so that no byte is counted twice. */
export class RoomBook {
  private readonly spoken = new Map<Gpu, Bytes>();
  /** Engines that go to sleep for one of those that asked before. */
  private readonly owned = new Set<Engine>();

  constructor(private readonly state: PoolState) {}

  roomNow(gpu: Gpu): Bytes {
    return roomWithoutAsks(gpu, this.state.releases);
  }

  /** With all that is on its way, less what those before need. */
  roomToCome(gpu: Gpu): Bytes {
    return this.roomNow(gpu) + comingOn(gpu, this.state.releases) - (this.spoken.get(gpu) ?? 0);
  }

  /** Both now, and without taking it from those before. */
  holds(gpu: Gpu, bytes: Bytes): boolean {
    return this.roomNow(gpu) >= bytes && this.roomToCome(gpu) >= bytes;
  }

  keep(gpus: readonly Gpu[], bytes: Bytes): void {
    for (const gpu of gpus) this.spoken.set(gpu, (this.spoken.get(gpu) ?? 0) + bytes);
  }

  /** Those that go to sleep on these GPUs and for nobody before: from now on for this one. */
  claimSleepers(gpus: readonly Gpu[]): readonly Engine[] {
    const sleepers = [...new Set(gpus.flatMap(({ tenants }) => tenants))].filter(
      (engine) => engine.order === 'sleep' && !this.owned.has(engine),
    );
    for (const engine of sleepers) this.owned.add(engine);
    return sleepers;
  }
}
