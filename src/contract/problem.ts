import { z } from 'zod';

/** Each code of an error, with its HTTP status and its constant title. The client reacts to `code`, never to `detail`. */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'The request is not valid' },
  unauthenticated: { status: 401, title: 'A valid API key is needed' },
  forbidden: { status: 403, title: 'You may not do this' },
  quota_exceeded: { status: 403, title: 'The quota can never admit this request' },
  not_found: { status: 404, title: 'There is no such thing, or you may not see it' },
  method_not_allowed: { status: 405, title: 'There is no such method here' },
  conflict: { status: 409, title: 'The state does not allow this' },
  gone: { status: 410, title: 'This has ended' },
  stale: { status: 412, title: 'It has changed since you read it' },
  too_large: { status: 413, title: 'The body is too large' },
  unsupported_media: { status: 415, title: 'The body has a type that is not taken here' },
  idempotency_key_reused: { status: 422, title: 'This idempotency key was used with another body' },
  never_fits: { status: 422, title: 'This request can never run here' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Berth failed' },
  upstream_failed: { status: 502, title: 'A part behind the API failed' },
  unavailable: { status: 503, title: 'A part of Berth is not reachable now' },
} as const satisfies Record<string, { status: number; title: string }>;
export type ProblemCode = keyof typeof PROBLEMS;
export const problemCodeSchema = z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]);

/** RFC 9457. `errors[].pointer` is a JSON pointer into the body, or `?name` for a query parameter, `/path/name` for a path's. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().describe('the request id'),
    code: problemCodeSchema,
    errors: z.array(z.object({ pointer: z.string(), message: z.string() })).default([]),
    retryAfterSeconds: z.int().optional(),
    hint: z.string().optional().describe('a command that helps'),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;

/** What a lower layer says when it refuses: the API turns it into a problem. */
export interface Refusal {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[];
  readonly hint?: string;
  readonly retryAfterSeconds?: number;
}
