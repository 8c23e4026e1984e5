import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationId, Refusal } from '../contract/index.js';
import type { Seal } from '../platform/seal.js';
import type { IdempotencyStore } from '../store/store.js';
import { invalid, ProblemError, problem } from './problem.js';

const SANE_KEY = /^[\x21-\x7e]{1,255}$/;
const RETRY_AFTER_SECONDS = 1;
/** Refusals that nothing in the request itself calls for: the same request may be granted later, so the key is freed. */
const MAY_CHANGE: ReadonlySet<Refusal['code']> = new Set([
  'internal',
  'unavailable',
  'upstream_failed',
  'rate_limited',
]);

export interface Attempt {
  readonly operation: OperationId;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly status: number;
  readonly newResourceId: () => string;
  /** The answer shows a secret: kept sealed. */
  readonly sealed: boolean;
  /** Run again beside one that still runs: everything it does is safe twice. Else such a request gets a 409. */
  readonly joinsRunning: boolean;
}

/** What to answer when the first request with this key was refused. */
interface SavedRefusal {
  readonly refusal: Refusal;
}
const isSavedRefusal = (status: number, body: unknown): body is SavedRefusal =>
  status >= 400 && typeof body === 'object' && body !== null && 'refusal' in body;

export function idempotencyKeyOf(request: FastifyRequest): string | null {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return null;
  if (typeof header !== 'string' || !SANE_KEY.test(header)) {
    throw invalid('', 'Idempotency-Key is 1 to 255 printable ASCII characters');
  }
  return header;
}

/** The body as it came, and the path and query with it: the same key for another session is another request. */
const digest = (request: FastifyRequest): Buffer =>
  createHash('sha256')
    .update(request.bodyHash ?? '')
    .update(request.url)
    .digest();

export interface Once {
  /** Runs `work` once for a key, principal and route; a repeat gets the saved answer. Without a key it just runs. */
  run(attempt: Attempt, work: (resourceId: string) => Promise<unknown>): Promise<unknown>;
}

export function createOnce(store: IdempotencyStore, seal: Seal): Once {
  const keep = ({ sealed }: Attempt, boundTo: string, answer: unknown): unknown =>
    sealed ? { sealed: seal.seal(answer, boundTo).toString('base64') } : answer;
  const take = ({ sealed }: Attempt, boundTo: string, saved: unknown): unknown =>
    sealed ? seal.open(Buffer.from((saved as { sealed: string }).sealed, 'base64'), boundTo) : saved;

  const execute = async (attempt: Attempt, entry: Entry, work: () => Promise<unknown>): Promise<unknown> => {
    try {
      const answer = await work();
      await store.finish({ ...entry, status: attempt.status, body: keep(attempt, entry.key, answer) ?? null });
      return answer;
    } catch (error) {
      if (error instanceof ProblemError && !MAY_CHANGE.has(error.refusal.code)) {
        await store.finish({ ...entry, status: 400, body: { refusal: error.refusal } });
      } else if (!attempt.joinsRunning) {
        // What may run again under its resource id keeps its key: freed, it would make a second thing on the next try.
        await store.forget(entry).catch(() => undefined); // the database is away as well: the key lapses by itself
      }
      throw error;
    }
  };

  return {
    async run(attempt, work) {
      const { request, reply, operation } = attempt;
      const key = idempotencyKeyOf(request);
      const principal = request.principal?.userId;
      if (key === null || principal === undefined) return work(attempt.newResourceId());
      const entry = { principal, route: operation, key };
      const resourceId = attempt.newResourceId();
      const begun = await store.begin({ ...entry, bodyHash: digest(request), resourceId });
      if (begun.outcome === 'reused') {
        throw problem('idempotency_key_reused', 'send another Idempotency-Key for another request');
      }
      if (begun.outcome === 'done') {
        void reply.header('idempotency-replayed', 'true');
        if (isSavedRefusal(begun.status, begun.body)) throw new ProblemError(begun.body.refusal);
        return take(attempt, key, begun.body);
      }
      if (begun.outcome === 'running' && !attempt.joinsRunning) {
        throw problem('conflict', 'the first request with this Idempotency-Key still runs', {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      }
      return execute(attempt, entry, () => work(begun.resourceId));
    },
  };
}

interface Entry {
  readonly principal: string;
  readonly route: string;
  readonly key: string;
}
