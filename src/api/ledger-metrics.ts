import { Gauge, type Registry } from 'prom-client';
import type { ControlStore } from '../store/store.js';

/** What the ledger counts, with the labels of each. */
const GAUGES: Readonly<Record<string, readonly string[]>> = {
  sessions: ['group', 'state'],
  sessions_waiting: ['group', 'reason'],
  queue_oldest_seconds: ['group'],
  nodes: ['group', 'state'],
  gpus: ['group'],
  gpus_held: ['group'],
  gpus_unhealthy: ['group'],
  gpu_shares_held_bytes: ['group'],
  sessions_preempting: ['group', 'cause'],
  sessions_backing_off: ['group'],
  rooms_kept: ['group'],
  cpu_millis_promised: ['group'],
  generation: ['group'],
  submissions_open: [],
  node_releases_owed: [],
};
const FRESH_MS = 1_000;

/** One call for all that ask within a second: a scrape asks once for each gauge. */
function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let latest: { readonly at: number; readonly value: Promise<T> } | undefined;
  return () => {
    if (latest === undefined || Date.now() - latest.at > FRESH_MS) latest = { at: Date.now(), value: read() };
    return latest.value;
  };
}

/** Gauges `berth_*` of the ledger, read at each scrape; `berth_ledger_audit` is 0 for every check of a sound ledger. */
export function measureLedger(registry: Registry, control: ControlStore): void {
  const metrics = shared(() => control.metrics());
  const registers = [registry];
  for (const [name, labels] of Object.entries(GAUGES)) {
    new Gauge({
      name: `berth_${name}`,
      help: `${name.replaceAll('_', ' ')}, as the ledger has it`,
      labelNames: [...labels],
      registers,
      async collect() {
        const own = (await metrics()).filter((metric) => metric.name === name);
        this.reset();
        for (const { labels, value } of own) this.set(labels, value);
      },
    });
  }
  new Gauge({
    name: 'berth_ledger_audit',
    help: 'rows of the ledger that should not be: 0 in a sound one',
    labelNames: ['check'],
    registers,
    async collect() {
      for (const [check, value] of Object.entries(await control.audit())) this.set({ check }, value);
    },
  });
}
