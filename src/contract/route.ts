import { z } from 'zod';
import { nameSchema } from './ids.js';

/** Who may call a route: `anyone` needs no key, `node` the token of the node in the path, the others a key of at least that role. */
export type RouteAccess = 'anyone' | 'user' | 'domain-admin' | 'operator' | 'node';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly access: RouteAccess;
  readonly summary: string;
  readonly tag:
    | 'sessions'
    | 'queue'
    | 'nodes'
    | 'agents'
    | 'groups'
    | 'quotas'
    | 'budgets'
    | 'folders'
    | 'apps'
    | 'models'
    | 'deployments'
    | 'tenancy'
    | 'system';
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Status and body of success; `stream` is SSE, newline-delimited JSON or plain text. */
  readonly status: 200 | 201 | 202 | 204;
  readonly answer: z.ZodType | 'stream' | 'nothing';
  /** POSTs that make something take an Idempotency-Key. */
  readonly idempotent?: boolean;
  /** The answer shows a secret once: kept sealed where it is kept for a repeated Idempotency-Key. */
  readonly secretAnswer?: boolean;
}

export const byName = z.object({ name: nameSchema });
/** `true` changes nothing: the request is checked and authorised, and the answer (200) says what it would make. */
export const dryRunQuery = z.object({ dryRun: z.stringbool().default(false) });

/** What a dry run answers where there is nothing to place. */
export const dryRunChangeSchema = z
  .object({ dryRun: z.literal(true), operation: z.string(), object: z.string(), message: z.string() })
  .meta({ id: 'DryRunChange' });

/** For what has no query, no body or no JSON answer: unknown keys are refused there too. */
export const emptySchema = z.strictObject({});
export const textSchema = z.string();
export const nothingSchema = z.null().describe('done');
export const idempotencyHeadersSchema = z.looseObject({
  'idempotency-key': z
    .string()
    .optional()
    .describe('1–255 printable characters; the same key and body within 24 h answer the same, made once'),
});
