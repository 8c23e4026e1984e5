import { z } from 'zod';
import {
  appListSchema,
  openAppSchema,
  openedAppSchema,
  openTerminalSchema,
  shareAppSchema,
  sharedAppSchema,
  tunnelSchema,
} from './app.js';
import { emptySchema, type Route } from './route.js';

const session = z.string().min(1).max(130).describe("the session's id, or its name");
const port = z.string().min(1).max(63).describe("a port's name, or its number in the container");

export const APP_ROUTES = {
  listApps: {
    method: 'GET',
    path: '/v1/sessions/:session/apps',
    access: 'user',
    tag: 'apps',
    summary: 'Its named ports, with the origin of each and who may open it',
    params: z.object({ session }),
    status: 200,
    answer: appListSchema,
  },
  openApp: {
    method: 'POST',
    path: '/v1/sessions/:session/apps/:port/open',
    access: 'user',
    tag: 'apps',
    summary: 'A URL that opens it once, within a minute',
    params: z.object({ session, port }),
    body: openAppSchema,
    status: 201,
    answer: openedAppSchema,
  },
  shareApp: {
    method: 'PUT',
    path: '/v1/sessions/:session/apps/:port/sharing',
    access: 'user',
    tag: 'apps',
    summary: 'Who may open it; a link that is made again ends the old one',
    params: z.object({ session, port }),
    body: shareAppSchema,
    status: 200,
    answer: sharedAppSchema,
  },
  openTerminal: {
    method: 'POST',
    path: '/v1/sessions/:session/terminal',
    access: 'user',
    tag: 'apps',
    summary: 'A WebSocket URL for one command with a terminal in a kernel (docs/apps.md says what is spoken on it)',
    params: z.object({ session }),
    body: openTerminalSchema,
    status: 201,
    answer: tunnelSchema,
  },
  openTunnel: {
    method: 'POST',
    path: '/v1/sessions/:session/ports/:port/tunnel',
    access: 'user',
    tag: 'apps',
    summary: 'A URL for one TCP connection to a port (Upgrade: berth-tcp)',
    params: z.object({ session, port }),
    body: emptySchema,
    status: 201,
    answer: tunnelSchema,
  },
} as const satisfies Record<string, Route>;
