import { Counter, Gauge, type Registry } from 'prom-client';
import type { PoolGpuView } from '../contract/index.js';
import type { ModelStore } from '../store/model-store.js';
import { gpuViews } from './pool-gpus.js';

/** Of the ledger, with their labels: `ModelStore.metrics` counts them. */
const GAUGES: Readonly<Record<string, readonly [labels: readonly string[], help: string]>> = {
  model_claims: [['pool', 'phase', 'reason'], 'model claims by phase and reason; reason is empty where a model serves'],
  model_oldest_wake_ask_seconds: [['pool'], 'since the oldest wake that is not met was asked for'],
};
const WAKE_FAILURES = 'model_wake_failures_total';

/** Of the account of each GPU. A GPU that is not measured has no usable bytes. */
const ACCOUNTS: Readonly<Record<string, readonly [help: string, of: (gpu: PoolGpuView) => number | null]>> = {
  pool_gpu_usable_bytes: ['what the driver reports without its own reserve', ({ usableBytes }) => usableBytes],
  pool_gpu_promised_bytes: ['sum of what is reserved for models', ({ promisedBytes }) => promisedBytes],
  pool_gpu_held_bytes: ['room that is kept for models that are to come', ({ heldBytes }) => heldBytes],
  pool_gpu_room_bytes: [
    'what it could offer with every model at its floor; below 0 while a wake waits for room',
    ({ maximumRoomBytes }) => maximumRoomBytes,
  ],
  pool_gpu_room_now_bytes: ['what it could offer with every model as it is', ({ roomNowBytes }) => roomNowBytes],
  pool_gpu_holes: ['what is not known of it: above 0 it takes nothing new', ({ holes }) => holes.length],
};
const FRESH_MS = 5_000;
const PAGE = 500;

interface Figures {
  readonly counted: Awaited<ReturnType<ModelStore['metrics']>>;
  readonly gpus: readonly PoolGpuView[];
}

/** Gauges `berth_model_*` and `berth_pool_gpu_*`, read from the ledger at most each 5 s. */
export function measureModels(registry: Registry, models: ModelStore): void {
  let latest: { readonly at: number; readonly value: Promise<Figures> } | undefined;
  const figures = (): Promise<Figures> => {
    if (latest === undefined || Date.now() - latest.at > FRESH_MS) {
      const value = readFigures(models);
      latest = { at: Date.now(), value };
      value.catch(() => (latest = undefined)); // the next scrape asks again
    }
    return latest.value;
  };
  const registers = [registry];
  for (const [name, [labelNames, help]] of Object.entries(GAUGES)) {
    new Gauge({
      name: `berth_${name}`,
      help,
      labelNames: [...labelNames],
      registers,
      async collect() {
        const own = (await figures()).counted.filter((metric) => metric.name === name);
        this.reset();
        for (const { labels, value } of own) this.set(labels, value);
      },
    });
  }
  for (const [name, [help, of]] of Object.entries(ACCOUNTS)) {
    new Gauge({
      name: `berth_${name}`,
      help,
      labelNames: ['pool', 'gpu'],
      registers,
      async collect() {
        const { gpus } = await figures();
        this.reset();
        for (const gpu of gpus) {
          const value = of(gpu);
          if (value !== null) this.set({ pool: gpu.pool, gpu: gpu.name }, value);
        }
      },
    });
  }
  countWakeFailures(registry, figures);
}

function countWakeFailures(registry: Registry, figures: () => Promise<Figures>): void {
  new Counter({
    name: `berth_${WAKE_FAILURES}`,
    help: 'wakes that failed: the engine was stopped and started anew',
    labelNames: ['pool'],
    registers: [registry],
    async collect() {
      const own = (await figures()).counted.filter(({ name }) => name === WAKE_FAILURES);
      this.reset();
      for (const { labels, value } of own) this.inc(labels, value);
    },
  });
}

async function readFigures(models: ModelStore): Promise<Figures> {
  const gpus: PoolGpuView[] = [];
  let cursor: string | null = null;
  do {
    const query = { limit: PAGE, ...(cursor === null ? {} : { cursor }) };
    const page: Awaited<ReturnType<ModelStore['pools']>> = await models.pools(query, { projects: null });
    for (const { name } of page.items) {
      const snapshot = await models.snapshot(name);
      if (snapshot !== null) gpus.push(...gpuViews(snapshot, null));
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return { counted: await models.metrics(), gpus };
}
