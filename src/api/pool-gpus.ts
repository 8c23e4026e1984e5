import type { ModelClaim, PoolGpuView, PoolSnapshot } from '../contract/index.js';
import { accountOf } from '../models/account.js';
import { heldOn } from '../models/held-on.js';
import { type Engine, poolState } from '../models/pool-state.js';
import { isReleased } from '../models/tenant.js';
import type { ModelScope, ModelStore } from '../store/model-store.js';

const PAGE = 500;
/** In place of the name of a model that the viewer may not see. */
export const FOREIGN_MODEL = '(another project)';

/** The account of each GPU of a snapshot, by name. `isShown` says whose names may be told; null: of all. */
export function gpuViews(snapshot: PoolSnapshot, isShown: ReadonlySet<string> | null): readonly PoolGpuView[] {
  const { gpus, releases } = poolState(snapshot, 0);
  return gpus.map((gpu) => {
    const heldBytes = heldOn(snapshot, gpu.name);
    const { promisedBytes, maximumRoomBytes, roomNowBytes } = accountOf({ ...gpu, heldBytes }, releases);
    const of = snapshot.gpus.find(({ name }) => name === gpu.name);
    return {
      pool: snapshot.pool,
      name: gpu.name,
      device: of?.device ?? '',
      usableBytes: of?.usableBytes ?? null,
      holes: [...gpu.holes],
      heldBytes,
      promisedBytes,
      maximumRoomBytes,
      roomNowBytes,
      tenants: gpu.tenants.map((engine) => tenantView(engine, { releases, isShown })),
    };
  });
}

function tenantView(
  engine: Engine,
  how: { readonly releases: boolean; readonly isShown: ReadonlySet<string> | null },
): PoolGpuView['tenants'][number] {
  const isNamed = how.isShown === null || how.isShown.has(engine.claim.id);
  return {
    model: isNamed ? engine.model : FOREIGN_MODEL,
    instanceId: isNamed ? engine.id : '',
    phase: engine.row?.phase ?? engine.phase,
    footprintBytes: engine.footprintBytes,
    kvFloorBytes: engine.kvFloorBytes,
    limitBytes: engine.limitBytes,
    kvUsedBytes: engine.kvUsedBytes,
    residueBytes: engine.residueBytes,
    isReleased: isReleased(engine, how.releases),
    running: engine.load?.running ?? null,
    waiting: engine.load?.waiting ?? null,
  };
}

/** Of a pool that the caller may use. Models of projects that it may not see keep their bytes and lose their names. */
export async function poolGpus(models: ModelStore, pool: string, scope: ModelScope): Promise<readonly PoolGpuView[]> {
  const [snapshot, isShown] = await Promise.all([
    models.snapshot(pool),
    scope.projects === null ? null : claimIds(models, pool, scope),
  ]);
  return snapshot === null ? [] : gpuViews(snapshot, isShown);
}

async function claimIds(models: ModelStore, pool: string, scope: ModelScope): Promise<ReadonlySet<string>> {
  const ids = new Set<ModelClaim['id']>();
  let cursor: string | null = null;
  do {
    const query = { pool, limit: PAGE, ...(cursor === null ? {} : { cursor }) };
    const page: Awaited<ReturnType<ModelStore['claims']>> = await models.claims(query, scope);
    for (const { id } of page.items) ids.add(id);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return ids;
}
