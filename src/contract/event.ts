import { z } from 'zod';
import { timestampSchema } from './ids.js';

/** One change of a session, with who caused it. `id` is the SSE id: give it as `Last-Event-ID` to resume after it. */
export const sessionEventSchema = z
  .object({
    id: z.string(),
    sessionId: z.string(),
    at: timestampSchema,
    kind: z.enum(['state', 'reason', 'progress', 'health', 'note']),
    from: z.string().nullable(),
    to: z.string().nullable(),
    cause: z.string(),
    actor: z.string().describe('a user name, or the part of Berth that did it'),
    attempt: z.int(),
    message: z.string(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'SessionEvent' });
export type SessionEvent = z.infer<typeof sessionEventSchema>;

export const auditEntrySchema = z
  .object({
    id: z.string(),
    at: timestampSchema,
    actor: z.string(),
    onBehalfOf: z.string().nullable(),
    action: z.string(),
    object: z.string(),
    data: z.record(z.string(), z.unknown()),
    requestId: z.string(),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof auditEntrySchema>;
