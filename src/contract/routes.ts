import type { z } from 'zod';
import type { Route } from './route.js';
import { APP_ROUTES } from './routes-apps.js';
import { BUDGET_ROUTES } from './routes-budgets.js';
import { DEPLOYMENT_ROUTES } from './routes-deployments.js';
import { FOLDER_ROUTES } from './routes-folders.js';
import { MODEL_ROUTES } from './routes-models.js';
import { NODE_ROUTES } from './routes-nodes.js';
import { REPORT_ROUTES } from './routes-reports.js';
import { SESSION_ROUTES } from './routes-sessions.js';
import { SETTINGS_ROUTES } from './routes-settings.js';
import { SYSTEM_ROUTES } from './routes-system.js';
import { TENANCY_ROUTES } from './routes-tenancy.js';
import { USAGE_ROUTES } from './routes-usage.js';

/** Every route of the API, once: the server, the OpenAPI document, the SDK and the authorisation test read this table. */
export const ROUTES = {
  ...SESSION_ROUTES,
  ...SETTINGS_ROUTES,
  ...NODE_ROUTES,
  ...BUDGET_ROUTES,
  ...FOLDER_ROUTES,
  ...APP_ROUTES,
  ...MODEL_ROUTES,
  ...DEPLOYMENT_ROUTES,
  ...TENANCY_ROUTES,
  ...SYSTEM_ROUTES,
  ...REPORT_ROUTES,
  ...USAGE_ROUTES,
} as const satisfies Record<string, Route>;
export type OperationId = keyof typeof ROUTES;

type Part<Id extends OperationId, Name extends 'params' | 'query' | 'body'> = (typeof ROUTES)[Id] extends {
  readonly [K in Name]: infer Schema extends z.ZodType;
}
  ? Schema
  : never;
type OutputOf<Schema> = [Schema] extends [never] ? undefined : Schema extends z.ZodType ? z.output<Schema> : undefined;
type InputOf<Schema> = [Schema] extends [never] ? undefined : Schema extends z.ZodType ? z.input<Schema> : undefined;

/** What a handler gets: parsed, defaults filled in. */
export interface RouteInput<Id extends OperationId> {
  readonly params: OutputOf<Part<Id, 'params'>>;
  readonly query: OutputOf<Part<Id, 'query'>>;
  readonly body: OutputOf<Part<Id, 'body'>>;
}
/** What a client sends: what has a default may be left out. */
export interface RouteRequest<Id extends OperationId> {
  readonly params: InputOf<Part<Id, 'params'>>;
  readonly query: InputOf<Part<Id, 'query'>>;
  readonly body: InputOf<Part<Id, 'body'>>;
}
/** The JSON of a success; `stream` and `undefined` (nothing) as the table says. */
export type RouteAnswer<Id extends OperationId> = (typeof ROUTES)[Id]['answer'] extends infer Answer
  ? Answer extends z.ZodType
    ? z.output<Answer>
    : Answer extends 'stream'
      ? 'stream'
      : undefined
  : never;
