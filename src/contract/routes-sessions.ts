import { z } from 'zod';
import { sessionEventSchema } from './event.js';
import { logsQuerySchema } from './node-protocol.js';
import { pageOf, pageQuerySchema } from './page.js';
import { byName, dryRunQuery, type Route } from './route.js';
import {
  createSessionSchema,
  dryRunSchema,
  execSchema,
  SESSION_STATES,
  sessionSchema,
  sessionStateSchema,
  stopSessionSchema,
} from './session.js';
import { snapshotSchema } from './snapshot.js';
import { queueEntrySchema, whySchema } from './why.js';

const session = z.object({ session: z.string().min(1).max(130).describe("the session's id, or its name") });
const list = <Item>(value: Item | Item[]) => (Array.isArray(value) ? value : [value]);

const sessionsQuery = pageQuerySchema.extend({
  state: z
    .union([sessionStateSchema, z.array(sessionStateSchema)], { error: `one of ${SESSION_STATES.join(', ')}` })
    .transform(list)
    .optional(),
  open: z.stringbool().optional().describe('only sessions that have not ended'),
  project: z.string().max(130).optional(),
  user: z.string().max(63).optional(),
  group: z.string().max(63).optional(),
  name: z.string().max(63).optional(),
  label: z
    .union([z.string().max(320), z.array(z.string().max(320))])
    .transform(list)
    .optional()
    .describe('key:value'),
});
const waitQuery = z.object({
  waitFor: z.enum(['admitted', 'placed', 'running', 'healthy', 'ended']).optional(),
  timeoutSeconds: z.coerce.number().min(0).max(60).default(30),
});

export const SESSION_ROUTES = {
  createSession: {
    method: 'POST',
    path: '/v1/sessions',
    access: 'user',
    tag: 'sessions',
    summary: 'Submit a session (or, with dryRun, ask what it would get)',
    query: dryRunQuery,
    body: createSessionSchema,
    status: 201,
    answer: z.union([sessionSchema, dryRunSchema]),
    idempotent: true,
  },
  listSessions: {
    method: 'GET',
    path: '/v1/sessions',
    access: 'user',
    tag: 'sessions',
    summary: 'List sessions, newest first',
    query: sessionsQuery,
    status: 200,
    answer: pageOf(sessionSchema, 'SessionPage'),
  },
  getSession: {
    method: 'GET',
    path: '/v1/sessions/:session',
    access: 'user',
    tag: 'sessions',
    summary: 'One session; with waitFor the answer comes when it is so, or at the timeout',
    params: session,
    query: waitQuery,
    status: 200,
    answer: sessionSchema,
  },
  whySession: {
    method: 'GET',
    path: '/v1/sessions/:session/why',
    access: 'user',
    tag: 'sessions',
    summary: 'Why it is not running, and what would change that',
    params: session,
    status: 200,
    answer: whySchema,
  },
  stopSession: {
    method: 'POST',
    path: '/v1/sessions/:session/stop',
    access: 'user',
    tag: 'sessions',
    summary: 'End it; a second call changes nothing',
    query: dryRunQuery,
    params: session,
    body: stopSessionSchema,
    status: 202,
    answer: sessionSchema,
    idempotent: true,
  },
  sessionHistory: {
    method: 'GET',
    path: '/v1/sessions/:session/history',
    access: 'user',
    tag: 'sessions',
    summary: 'Its changes so far',
    params: session,
    query: z.object({
      after: z.string().max(64).optional(),
      limit: z.coerce.number().int().min(1).max(500).default(200),
    }),
    status: 200,
    answer: pageOf(sessionEventSchema, 'SessionEventPage'),
  },
  sessionEvents: {
    method: 'GET',
    path: '/v1/sessions/:session/events',
    access: 'user',
    tag: 'sessions',
    summary: 'Its changes as they happen (SSE; Last-Event-ID resumes; ends after the last change)',
    params: session,
    status: 200,
    answer: 'stream',
  },
  sessionLogs: {
    method: 'GET',
    path: '/v1/sessions/:session/logs',
    access: 'user',
    tag: 'sessions',
    summary: 'Output of a kernel as frames (newline-delimited JSON)',
    params: session,
    query: logsQuerySchema.extend({ kernel: z.string().max(130).default('main') }),
    status: 200,
    answer: 'stream',
  },
  execSession: {
    method: 'POST',
    path: '/v1/sessions/:session/exec',
    access: 'user',
    tag: 'sessions',
    summary: 'Run a command in a kernel; frames, the last has the exit code',
    params: session,
    body: execSchema,
    status: 200,
    answer: 'stream',
  },
  listQueue: {
    method: 'GET',
    path: '/v1/groups/:name/queue',
    access: 'user',
    tag: 'queue',
    summary: 'Who waits, in order, for what, behind whom',
    params: byName,
    query: pageQuerySchema,
    status: 200,
    answer: pageOf(queueEntrySchema, 'QueuePage'),
  },
  getSnapshot: {
    method: 'GET',
    path: '/v1/groups/:name/snapshot',
    access: 'operator',
    tag: 'queue',
    summary: 'All that the next pass decides from',
    params: byName,
    status: 200,
    answer: snapshotSchema,
  },
} as const satisfies Record<string, Route>;
