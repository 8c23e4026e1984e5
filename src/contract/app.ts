import { z } from 'zod';
import { argumentSchema, containerPathSchema, environmentSchema } from './create-session.js';
import { kernelIdSchema, nameSchema, sessionIdSchema, timestampSchema, userIdSchema } from './ids.js';

/** Who may open an app: its owner alone, the members of the session's project, who has the link, or everybody. */
export const APP_SHARINGS = ['me', 'project', 'link', 'public'] as const;
export const appSharingSchema = z.enum(APP_SHARINGS);
export type AppSharing = z.infer<typeof appSharingSchema>;

/** A named port of a session, as the gateway serves it: an origin of its own, the same for every attempt. */
export const appSchema = z
  .object({
    name: nameSchema.describe('of the port'),
    containerPort: z.int(),
    url: z.string().describe('its origin; opening it takes a ticket, a link, or a public sharing'),
    sharing: appSharingSchema,
    expiresAt: timestampSchema.nullable().describe('of the link; null: it has none, or no end'),
  })
  .meta({ id: 'App' });
export type App = z.infer<typeof appSchema>;
export const appListSchema = z.object({ items: z.array(appSchema) }).meta({ id: 'AppList' });

const LINK_SECONDS_MAX = 366 * 86_400;
export const shareAppSchema = z
  .strictObject({
    sharing: appSharingSchema.default('project'),
    expiresInSeconds: z.int().min(60).max(LINK_SECONDS_MAX).optional().describe('of a link; 7 days when omitted'),
  })
  .refine(({ sharing, expiresInSeconds }) => expiresInSeconds === undefined || sharing === 'link', {
    message: 'only a link has an end',
    path: ['expiresInSeconds'],
  })
  .meta({ id: 'ShareApp' });
export const sharedAppSchema = appSchema
  .extend({ link: z.string().nullable().describe('shown once, here; a new one ends the old one') })
  .meta({ id: 'SharedApp' });

export const openAppSchema = z
  .strictObject({
    path: z
      .string()
      .max(2_048)
      .regex(/^\/(?![/\\])[\x21-\x7e]*$/, 'a path that starts with one slash')
      .default('/')
      .describe('where in the app'),
  })
  .meta({ id: 'OpenApp' });
export const openedAppSchema = z
  .object({ url: z.string().describe('works once, for a minute'), expiresAt: timestampSchema })
  .meta({ id: 'OpenedApp' });

export const openTerminalSchema = z
  .strictObject({ kernel: z.string().max(130).default('main').describe('a role or a kernel id') })
  .meta({ id: 'OpenTerminal' });
export const tunnelSchema = z
  .object({ url: z.string().describe('at the gateway; works once, for a minute'), expiresAt: timestampSchema })
  .meta({ id: 'Tunnel' });

/** By which right an app is entered; each request asks the routing table whether it still stands. */
export const appRightSchema = z.enum(['owner', 'member', 'operator', 'link']);
export type AppRight = z.infer<typeof appRightSchema>;

/** A one-use ticket for the gateway (ES256, audience `app`, 60 s): to an app's cookie, or through to a kernel. */
export const appTicketSchema = z.discriminatedUnion('use', [
  z.object({
    use: z.literal('open'),
    sessionId: sessionIdSchema,
    port: nameSchema,
    path: z.string(),
    right: appRightSchema,
    userId: userIdSchema,
    exp: z.number(),
    jti: z.string(),
  }),
  z.object({
    use: z.literal('terminal'),
    sessionId: sessionIdSchema,
    kernelId: kernelIdSchema,
    exp: z.number(),
    jti: z.string(),
  }),
  z.object({
    use: z.literal('port'),
    sessionId: sessionIdSchema,
    kernelId: kernelIdSchema,
    containerPort: z.int(),
    exp: z.number(),
    jti: z.string(),
  }),
]);
export type AppTicket = z.infer<typeof appTicketSchema>;

/** The cookie of one app on its own origin (ES256, audience `app-cookie`). */
export const appCookieSchema = z.object({
  sessionId: sessionIdSchema,
  port: nameSchema,
  right: appRightSchema,
  userId: userIdSchema.nullable(),
  /** Which link it came from: another link, or none, ends it. */
  link: z.string().nullable(),
  exp: z.number(),
});
export type AppCookie = z.infer<typeof appCookieSchema>;

const side = z.int().min(1).max(10_000);
export const terminalSizeSchema = z.object({ rows: side, columns: side });
export type TerminalSize = z.infer<typeof terminalSizeSchema>;

/** The first message of a terminal's WebSocket, as text. It carries values: it is never part of a URL or a token. */
export const terminalStartSchema = z.strictObject({
  command: z.array(argumentSchema).min(1).max(1024),
  tty: z.boolean().default(true).describe('one stream; without: stdout and stderr apart'),
  size: terminalSizeSchema.optional(),
  workdir: containerPathSchema.optional(),
  environment: environmentSchema.default({}),
});
export type TerminalStart = z.infer<typeof terminalStartSchema>;

/** Text messages after it. Binary ones are input. */
export const terminalControlSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('resize'), ...terminalSizeSchema.shape }),
  z.strictObject({ type: z.literal('eof') }),
]);
export type TerminalControl = z.infer<typeof terminalControlSchema>;

/** Text messages of the other side; the last one before it closes. Binary ones are output: a byte (1 stdout, 2 stderr), then data. */
export const terminalEndSchema = z.union([z.object({ exitCode: z.int() }), z.object({ error: z.string() })]);
export type TerminalEnd = z.infer<typeof terminalEndSchema>;
