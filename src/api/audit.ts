import type { FastifyRequest } from 'fastify';
import type { OperationId, Principal } from '../contract/index.js';
import type { EventStore } from '../store/store.js';

const firstOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]).slice(0, 1) : []);

/** Never in the audit log: values that may be secrets. Names of variables stay. */
const HIDDEN: Readonly<Record<string, (value: unknown) => unknown>> = {
  environment: (value) => (typeof value === 'object' && value !== null ? Object.keys(value) : []),
  registryCredentials: () => 'given',
  command: firstOf,
  entrypoint: firstOf,
};

/** At any depth: a pool's variables are those of its members. */
const shown = (body: unknown): Record<string, unknown> =>
  isObject(body) ? Object.fromEntries(Object.entries(body).map(([key, value]) => [key, shownValue(key, value)])) : {};
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const shownValue = (key: string, value: unknown): unknown =>
  HIDDEN[key]?.(value) ?? (isObject(value) ? shown(value) : value);

/** What was changed: the id or name of the answer, else what the path names. */
function objectOf(answer: unknown, params: unknown): string {
  const made = answer as { id?: unknown; name?: unknown } | null | undefined;
  if (typeof made?.id === 'string') return made.id;
  const named = Object.values((params ?? {}) as Record<string, string>);
  if (named.length > 0) return named.join('/');
  return typeof made?.name === 'string' ? made.name : '';
}

export interface Change {
  readonly operation: OperationId;
  readonly principal: Principal;
  readonly request: FastifyRequest;
  readonly answer: unknown;
}

/** One row a change: the operator who made the call and, apart, the user for whom. */
export async function audit(events: EventStore, change: Change): Promise<void> {
  const { operation, principal, request, answer } = change;
  const acts = principal.actingUserId === principal.userId;
  await events.audit({
    actor: principal.actingUserName,
    onBehalfOf: acts ? null : principal.userName,
    action: operation,
    object: objectOf(answer, request.params),
    data: shown(request.body),
    requestId: request.id,
  });
}
