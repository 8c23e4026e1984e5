import { PROBLEMS, type ProblemCode } from '../../contract/index.js';
import type { OpenAiError } from '../models/openai-error.js';

/** What a client of an endpoint is told in the place of a replica's answer: problem+json. */
export interface EndpointProblem {
  readonly code: ProblemCode;
  readonly detail: string;
  /** A command that helps. */
  readonly hint?: string;
  readonly retryAfterSeconds?: number;
  /** Why it does not serve: the reason's code, and its words. */
  readonly reason?: { readonly code: string; readonly message: string | null };
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RenderedProblem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function renderProblem(problem: EndpointProblem, requestId: string): RenderedProblem {
  const { code, detail, hint, retryAfterSeconds, reason } = problem;
  const { status, title } = PROBLEMS[code];
  const more = {
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(reason === undefined ? {} : { reason }),
    ...(hint === undefined ? {} : { hint }),
  };
  const body = JSON.stringify({
    ...{ type: `/docs/errors#${code}`, title, status, detail, instance: requestId, code, errors: [], ...more },
  });
  const headers = {
    'content-type': 'application/problem+json',
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    'x-request-id': requestId,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    ...problem.headers,
  };
  return { status, headers, body };
}

export const NO_TOKEN: EndpointProblem = {
  code: 'unauthenticated',
  detail:
    'Send a token of this deployment, or an API key of Berth: Authorization: Bearer …; this one is missing, unknown, revoked or expired.',
  hint: 'berth deploy token create DEPLOYMENT NAME',
  headers: { 'www-authenticate': 'Bearer realm="berth"' },
};
/** The same whether there is no such deployment, or it is not the key's to know. */
export const NO_DEPLOYMENT: EndpointProblem = {
  code: 'not_found',
  detail: 'There is no such deployment, or this key may not use it.',
  hint: 'berth deploy ls',
};
export const READS_ONLY: EndpointProblem = {
  code: 'forbidden',
  detail: 'This key may only read (its scope is "read"): it asks nothing of a deployment.',
  hint: 'berth key create NAME --scope models',
};
export const KEYS_UNREAD: EndpointProblem = {
  code: 'unavailable',
  detail: 'Keys cannot be checked now: the database does not answer.',
  retryAfterSeconds: 5,
};
export const ENDS: EndpointProblem = {
  code: 'unavailable',
  detail: 'This gateway ends; ask again.',
  retryAfterSeconds: 1,
  headers: { connection: 'close' },
};
export const BROKE: EndpointProblem = {
  code: 'internal',
  detail: "The gateway failed; its log says more under this request's id.",
};
export const REPLICA_DIED: EndpointProblem = {
  code: 'upstream_failed',
  detail: 'The replica closed the connection before it answered. Whether it did what was asked is not known.',
};

/** As the model gateway words it, so that both say the same of a deployment. */
export const notServing = (
  name: string,
  { message, reason, reasonMessage, retryAfterSeconds }: OpenAiError,
): EndpointProblem => ({
  code: 'unavailable',
  detail: message.replace(/^The model \S+/, `The deployment ${name}`),
  hint: `berth deploy why ${name}`,
  ...(reason === undefined ? {} : { reason: { code: reason, message: reasonMessage ?? null } }),
  ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
});
