import { randomUUID } from 'node:crypto';
import type { Logger } from '../../platform/log.js';
import type { ModelStore } from '../../store/model-store.js';
import { oneAtATime } from './one-at-a-time.js';
import { within } from './within.js';

export interface UsageBookDeps {
  readonly models: Pick<ModelStore, 'recordUsage'>;
  readonly log: Logger;
  readonly everyMs: number;
}

export interface Used {
  readonly keyId: string;
  readonly project: string;
  readonly model: string;
  readonly hasFailed: boolean;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

type Row = Parameters<ModelStore['recordUsage']>[0][number];
type Sum = { -readonly [Name in keyof Row]: Row[Name] };

/** Rows while Postgres is away: so many keys × models; what is above is lost, and said. */
const ROWS_MAX = 50_000;
const RECORD_MS = 10_000;

/**
 * What was used, summed by key, project and model; told each `everyMs` and at the end. A batch whose telling failed is told
 * again under its id, so that one whose answer alone was lost counts once; what comes meanwhile waits for the next.
 */
export class UsageBook {
  readonly #deps: UsageBookDeps;
  readonly #timer: NodeJS.Timeout;
  #sums = new Map<string, Sum>();
  #batch: { readonly id: string; readonly rows: readonly Row[] } | null = null;
  #lost = 0;

  constructor(deps: UsageBookDeps) {
    this.#deps = deps;
    const again = oneAtATime(() => this.#tell());
    this.#timer = setInterval(again, deps.everyMs);
  }

  add({ keyId, project, model, hasFailed, promptTokens, completionTokens }: Used): void {
    const sum = this.#sumOf(`${keyId} ${project} ${model}`, { keyId, project, model });
    if (sum === null) return;
    sum.requests += 1;
    sum.failed += hasFailed ? 1 : 0;
    sum.promptTokens += promptTokens;
    sum.completionTokens += completionTokens;
  }

  /** Tells what is left, once. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#batch !== null) await this.#tell();
    await this.#tell();
  }

  async #tell(): Promise<void> {
    if (this.#lost > 0) this.#deps.log.error({ requests: this.#lost }, 'usage of requests was lost');
    this.#lost = 0;
    if (this.#batch === null && this.#sums.size > 0) {
      this.#batch = { id: randomUUID(), rows: [...this.#sums.values()] };
      this.#sums = new Map();
    }
    if (this.#batch === null) return;
    try {
      await within(RECORD_MS, this.#deps.models.recordUsage(this.#batch.rows, this.#batch.id));
      this.#batch = null;
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'usage could not be recorded; it is told again');
    }
  }

  #sumOf(name: string, of: Pick<Row, 'keyId' | 'project' | 'model'>): Sum | null {
    const known = this.#sums.get(name);
    if (known !== undefined) return known;
    if (this.#sums.size >= ROWS_MAX) {
      this.#lost += 1;
      return null;
    }
    const sum = { ...of, requests: 0, failed: 0, promptTokens: 0, completionTokens: 0 };
    this.#sums.set(name, sum);
    return sum;
  }
}
