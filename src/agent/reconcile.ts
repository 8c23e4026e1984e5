import type { Reconciled } from '../contract/index.js';
import type { Logger } from '../platform/log.js';
import type { AgentMetrics } from './agent-metrics.js';
import type { AgentApi } from './api-client.js';
import { foundKernels, inventoryHash, listKernels } from './inventory.js';
import { type KernelContainer, LABEL, networkName, runKey } from './kernel-container.js';
import { type RemovalDeps, removeKernel, removeNetworkIfEmpty } from './remove-kernel.js';
import { pause, retry } from './retry.js';

/** Compares this node's containers with the ledger's list, and removes what the ledger says has no owner. */
export interface Reconciler {
  /** One round, whatever was acknowledged before. `starting` tells that the agent (or its contact) is new. */
  readonly round: (options: { readonly starting: boolean; readonly signal?: AbortSignal }) => Promise<Reconciled>;
  /** After a new beat: a round of a starting agent when none was acknowledged yet, or when the ledger says LOST. */
  readonly afterSilence: (signal?: AbortSignal) => Promise<void>;
  /** Each minute until aborted, when the inventory differs from the last acknowledged one, and every two minutes anyway. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export interface ReconcilerDeps extends RemovalDeps {
  readonly node: string;
  readonly api: Pick<AgentApi, 'reconcile'>;
  readonly metrics: AgentMetrics;
  readonly log: Logger;
  /** Sessions whose kernels are being started now: their networks may be empty. */
  readonly isStarting: (sessionId: string) => boolean;
  readonly everyMs?: number;
}

const EVERY_MS_DEFAULT = 60_000;
/** A node that the ledger calls LOST by mistake (only Temporal is away) is itself again well before its work is ended. */
const SILENT_MS_MAX = 120_000;

interface Memory {
  hash: string | undefined;
  at: number;
  /** Networks without containers at the last look: they go when they are so twice in a row. */
  emptyNetworks: ReadonlySet<string>;
}

export function createReconciler(deps: ReconcilerDeps): Reconciler {
  const memory: Memory = { hash: undefined, at: 0, emptyNetworks: new Set() };
  let latest: Promise<unknown> = Promise.resolve();

  /** One at a time: two would remove the same containers side by side. */
  const round: Reconciler['round'] = (options) => {
    const next = latest.then(() => oneRound(deps, memory, options));
    latest = next.catch(() => undefined);
    return next;
  };

  const afterSilence = async (signal?: AbortSignal): Promise<void> => {
    const told = await round({ starting: memory.hash === undefined, ...(signal && { signal }) });
    if (told.state === 'LOST') await round({ starting: true, ...(signal && { signal }) });
  };

  return {
    round,
    afterSilence,
    run: async (signal) => {
      while (!signal.aborted) {
        await pause(deps.everyMs ?? EVERY_MS_DEFAULT, signal);
        if (signal.aborted) return;
        try {
          await removeOrphanNetworks(deps, memory);
          if (await isDue(deps, memory)) await retry(() => afterSilence(signal), { signal, triesMax: 3 });
        } catch (error) {
          if (!signal.aborted) deps.log.warn({ err: error }, 'reconciliation failed; the next round tries again');
        }
      }
    },
  };
}

async function isDue({ containers, node }: ReconcilerDeps, memory: Memory): Promise<boolean> {
  if (memory.hash === undefined) return false; // the first round is the starting agent's own
  if (performance.now() - memory.at > SILENT_MS_MAX) return true;
  return inventoryHash(foundKernels(await listKernels(containers, node))) !== memory.hash;
}

interface RoundOptions {
  readonly starting: boolean;
  readonly signal?: AbortSignal;
}

async function oneRound(deps: ReconcilerDeps, memory: Memory, { starting, signal }: RoundOptions): Promise<Reconciled> {
  const kernels = await listKernels(deps.containers, deps.node);
  deps.metrics.containers.set(kernels.length);
  const inventory = foundKernels(kernels);
  const answer = await deps.api.reconcile({ kernels: inventory, starting }, signal);
  deps.metrics.reconciliations.inc();
  if (answer.missing.length > 0)
    deps.log.warn({ missing: answer.missing }, 'the ledger expects kernels that are not here');
  await removeNamed(deps, kernels, answer);
  memory.hash = inventoryHash(inventory);
  memory.at = performance.now();
  return answer;
}

/** Exactly what the answer names; a container that is newer than the ledger's list is left, whatever it says. */
async function removeNamed(
  deps: ReconcilerDeps,
  kernels: readonly KernelContainer[],
  { remove, epoch }: Reconciled,
): Promise<void> {
  const named = new Set(remove.map(runKey));
  const orphans = kernels.filter((kernel) => named.has(runKey(kernel)) && kernel.epoch <= epoch);
  for (const orphan of orphans) {
    const { kernelId, sessionId, attempt, graceSeconds } = orphan;
    deps.log.info({ kernelId, attempt, epoch: orphan.epoch }, 'a kernel without an owner is removed');
    await removeKernel(deps, { kernelId, attempt, graceSeconds });
    await removeNetworkIfEmpty(deps, sessionId);
    deps.metrics.orphans.inc({ what: 'container' });
  }
}

async function removeOrphanNetworks(deps: ReconcilerDeps, memory: Memory): Promise<void> {
  const networks = await deps.containers.listNetworks({ [LABEL.node]: deps.node });
  const empty = new Set<string>();
  for (const { name, labels } of networks) {
    const sessionId = labels[LABEL.session];
    if (sessionId === undefined || name !== networkName(sessionId) || deps.isStarting(sessionId)) continue;
    const left = await deps.containers.list({ [LABEL.session]: sessionId });
    if (left.length > 0) continue;
    if (!memory.emptyNetworks.has(name)) empty.add(name);
    else if (await removeNetworkIfEmpty(deps, sessionId)) deps.metrics.orphans.inc({ what: 'network' });
  }
  memory.emptyNetworks = empty;
}
