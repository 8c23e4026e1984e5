import type { z } from 'zod';
import type { dryRunChangeSchema } from '../../contract/index.js';
import type { BodyOf, CallOptions, QueryOf } from '../operations.js';
import { cursorIn, listOf } from '../pages.js';
import type { Transport } from '../transport.js';

/** A slash would end the path's element: `~` stands for it. */
const at = (budget: string) => ({ budget: budget.replaceAll('/', '~') });

/** `budget` is a path as research/nlp, an id, or `root`. Give `ifMatch`, the budget's `etag`, with a change. */
export const budgetsOf = (transport: Transport) => ({
  create: (budget: BodyOf<'createBudget'>, options?: CallOptions) =>
    transport.call('createBudget', { body: budget }, options),
  /** Whether it could be; changes nothing. */
  dryRun: async (budget: BodyOf<'createBudget'>, options?: CallOptions) =>
    (await transport.call('createBudget', { body: budget, query: { dryRun: true } }, options)) as unknown as z.infer<
      typeof dryRunChangeSchema
    >,
  /** The tree that you may see, parents before children. */
  list: (query: QueryOf<'listBudgets'> = {}, options?: CallOptions) =>
    listOf((cursor) => transport.call('listBudgets', { query: { ...query, ...cursorIn(cursor) } }, options)),
  get: (budget: string, options?: CallOptions) => transport.call('getBudget', { params: at(budget) }, options),
  /** A merge patch: what is not named stays. `parent` moves it with all below it. */
  patch: (budget: string, patch: BodyOf<'patchBudget'>, options?: CallOptions) =>
    transport.call('patchBudget', { params: at(budget), body: patch }, options),
  /** Nothing more is charged to it. A second call changes nothing. */
  close: (budget: string, options?: CallOptions) => transport.call('closeBudget', { params: at(budget) }, options),
  /** Who changed what when, newest first, of it and all below it. */
  changes: (budget: string, query: QueryOf<'listBudgetChanges'> = {}, options?: CallOptions) =>
    listOf((cursor) =>
      transport.call('listBudgetChanges', { params: at(budget), query: { ...query, ...cursorIn(cursor) } }, options),
    ),
  /** Why a session (an id or a name) stands where it stands, with the sessions and hours behind it. */
  explain: (session: string, options?: CallOptions) =>
    transport.call('explainBudget', { params: { session } }, options),
  settings: (options?: CallOptions) => transport.call('getBudgetSettings', {}, options),
  /** Sets all of them; what is left out has its default. Give `ifMatch`, the settings' `etag`. */
  putSettings: (settings: BodyOf<'putBudgetSettings'>, options?: CallOptions) =>
    transport.call('putBudgetSettings', { body: settings }, options),
});
