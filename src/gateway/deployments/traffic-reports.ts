import type { Logger } from '../../platform/log.js';
import type { DeploymentStore, DeploymentTraffic } from '../../store/deployment-store.js';
import { oneAtATime } from '../models/one-at-a-time.js';
import { within } from '../models/within.js';
import type { DeploymentEntry } from './deployment-entry.js';

export interface TrafficReportsDeps {
  readonly deployments: Pick<DeploymentStore, 'recordTraffic'>;
  /** Tells a deployment's workflow that a row of it changed. */
  readonly kickDeployment: (deploymentId: string) => Promise<void>;
  readonly entries: () => Iterable<DeploymentEntry>;
  readonly log: Logger;
  /** Unique among gateway processes, and the same after a restart. */
  readonly gateway: string;
  readonly everyMs: number;
}

const TOLD_MS = 5_000;
const BUSY_EVERY_MS = 5_000;

/**
 * What goes to replicas, told each `everyMs`: of a deployment where something changed, and each 5 s where something is under way. At
 * once where a wake is asked for, or a replica off the route became empty. The first report names all: this process has nothing of
 * what one of its name before it had.
 */
export class TrafficReports {
  readonly #deps: TrafficReportsDeps;
  readonly #timer: NodeJS.Timeout;
  readonly #tellSoon: () => void;
  readonly #toldMs = new WeakMap<DeploymentEntry, number>();
  #isFirst = true;
  #lastMs = performance.now();

  constructor(deps: TrafficReportsDeps) {
    this.#deps = deps;
    this.#tellSoon = oneAtATime(() => this.#tell());
    this.#timer = setInterval(this.#tellSoon, deps.everyMs);
    this.#tellSoon();
  }

  now(): void {
    this.#tellSoon();
  }

  /** Tells what is left, once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#tell();
  }

  async #tell(): Promise<void> {
    const { deployments, gateway, log } = this.#deps;
    const nowMs = performance.now();
    const seconds = Math.max(0.001, (nowMs - this.#lastMs) / 1000);
    const taken = [...this.#deps.entries()]
      .filter((entry) => this.#isDue(entry, nowMs))
      .map((entry) => ({ entry, told: trafficOf(entry, seconds) }));
    try {
      const report = deployments.recordTraffic(
        gateway,
        taken.map(({ told }) => told),
      );
      const kicked = await within(TOLD_MS, report);
      this.#isFirst = false;
      this.#lastMs = nowMs;
      for (const { entry } of taken) this.#toldMs.set(entry, nowMs);
      for (const deploymentId of kicked) void this.#kick(deploymentId);
    } catch (error) {
      log.warn({ err: error }, 'traffic of deployments could not be told; it is told with the next report');
      for (const { entry, told } of taken) entry.counts.putBack(told);
    }
  }

  #isDue(entry: DeploymentEntry, nowMs: number): boolean {
    if (this.#isFirst || entry.counts.hasChanged) return true;
    return nowMs - (this.#toldMs.get(entry) ?? 0) >= BUSY_EVERY_MS && entry.inFlight.length > 0;
  }

  /** Without it the row stands, and the workflow finds it by itself within its net. */
  async #kick(deploymentId: string): Promise<void> {
    try {
      await within(TOLD_MS, this.#deps.kickDeployment(deploymentId));
    } catch (error) {
      this.#deps.log.warn({ err: error, deploymentId }, 'a deployment could not be told; it looks by itself');
    }
  }
}

const trafficOf = (entry: DeploymentEntry, seconds: number): DeploymentTraffic => ({
  deploymentId: entry.deployment.deploymentId,
  ...entry.counts.take(),
  seconds,
  inFlight: entry.inFlight,
  refused: entry.refused,
});
