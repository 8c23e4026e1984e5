import type { z } from 'zod';
import {
  dryRunChangeSchema,
  dryRunSchema,
  emptySchema,
  idempotencyHeadersSchema,
  nothingSchema,
  type OperationId,
  problemSchema,
  type Route,
  textSchema,
} from '../contract/index.js';
import { PROBLEM_TYPE } from './problem.js';

const STREAM_TYPES: Readonly<Partial<Record<OperationId, string>>> = {
  sessionEvents: 'text/event-stream',
  metrics: 'text/plain',
};

/** What answers as text, too, where the query asks for it. */
const TEXT_TYPES: Readonly<Partial<Record<OperationId, readonly string[]>>> = {
  getBudgetReport: ['text/markdown', 'text/html'],
};

const answer = (type: string, description: string, schema: z.ZodType) => ({
  description,
  content: { [type]: { schema } },
});

/** Their handlers answer a dry run themselves, in the words of the real answer or in their own. */
export const OWN_DRY_RUN: ReadonlySet<OperationId> = new Set(['createSession', 'drainNode', 'applyDeployment']);

function success(id: OperationId, route: Route): unknown {
  if (route.answer === 'nothing') return nothingSchema;
  if (route.answer !== 'stream')
    return withTexts(id, answer('application/json', route.summary, jsonOf(id, route.answer, route)));
  return answer(STREAM_TYPES[id] ?? 'application/x-ndjson', route.summary, textSchema);
}

const withTexts = (id: OperationId, { description, content }: ReturnType<typeof answer>) => ({
  description,
  content: { ...content, ...Object.fromEntries((TEXT_TYPES[id] ?? []).map((type) => [type, { schema: textSchema }])) },
});

/** Where the real thing answers 200, a dry run does too: one description serves both. */
const jsonOf = (id: OperationId, real: z.ZodType, route: Route): z.ZodType =>
  route.status === 200 && takesDryRun(route) && !OWN_DRY_RUN.has(id) ? real.or(dryRunChangeSchema) : real;

export const takesDryRun = (route: Route): boolean => route.query !== undefined && 'dryRun' in route.query.shape;

/** A dry run answers 200 where the real thing answers 201 or 202. */
function responses(id: OperationId, route: Route): Record<string, unknown> {
  const dryRun = id === 'createSession' ? dryRunSchema : dryRunChangeSchema;
  return {
    ...(takesDryRun(route) && route.status !== 200 ? { 200: answer('application/json', 'The dry run', dryRun) } : {}),
    [route.status]: success(id, route),
    default: answer(PROBLEM_TYPE, 'What was wrong (RFC 9457)', problemSchema),
  };
}

/** Fastify's schema of a route: what is parsed, and what the OpenAPI document says. Unknown keys are refused everywhere. */
export function schemaOf(id: OperationId, route: Route): Record<string, unknown> {
  const hasBody = route.method !== 'GET' && route.method !== 'DELETE';
  return {
    operationId: id,
    summary: route.summary,
    tags: [route.tag],
    security: route.access === 'anyone' ? [] : [{ key: [] }],
    querystring: (route.query ?? emptySchema).strict(),
    ...(route.params === undefined ? {} : { params: route.params }),
    ...(hasBody ? { body: route.body ?? emptySchema } : {}),
    ...(route.idempotent === true ? { headers: idempotencyHeadersSchema } : {}),
    response: responses(id, route),
  };
}
