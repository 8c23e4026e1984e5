import { type BudgetForest, findBudget } from '../../budgets/budget-forest.js';
import { changeSight, maySee, maySeePeople } from '../../budgets/budget-rights.js';
import { type BudgetSight, budgetSight, budgetView, budgetViews } from '../../budgets/budget-view.js';
import { type BudgetCommand, type BudgetDecision, changeBudget, lookUpOf } from '../../budgets/change-budget.js';
import type { Budget, OperationId, Page, Principal } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import { ifMatchOf, stale, withEtag } from '../etag.js';
import { explainBudget } from '../explain-budget.js';
import type { Checks, Handlers } from '../handler.js';
import { kick } from '../kick.js';
import { found, invalid, ProblemError } from '../problem.js';

type Ids = Extract<
  OperationId,
  | 'createBudget'
  | 'listBudgets'
  | 'getBudget'
  | 'patchBudget'
  | 'closeBudget'
  | 'listBudgetChanges'
  | 'explainBudget'
  | 'getBudgetSettings'
  | 'putBudgetSettings'
>;
type Store = ApiDeps['store'];

/** A slash would end the path's element: `~` stands for it. */
const named = ({ budget }: { readonly budget: string }): string => budget.replaceAll('~', '/');

async function sightOf({ budgets }: Store): Promise<BudgetSight> {
  return budgetSight(await budgets.facts());
}

/** The budget as the caller may see it: whom a foreign one serves and who manages it are its domain's business. */
function shown(sight: BudgetSight, id: string, principal: Principal): Budget {
  const row = found(sight.forest.byId.get(id), 'such budget');
  const view = budgetView(sight, row);
  return maySeePeople(sight.forest, row, principal) ? view : { ...view, projects: [], managers: [] };
}

function visible(forest: BudgetForest, pathOrId: string, principal: Principal) {
  const row = findBudget(forest, pathOrId);
  return found(row !== null && maySee(forest, row, principal) ? row : null, `budget ${pathOrId}`);
}

/** Decides under the tree's lock and writes; all groups that order by fair share look again. */
async function change(deps: ApiDeps, command: BudgetCommand, principal: Principal): Promise<Budget> {
  const { budgets } = deps.store;
  const done = await budgets.change(
    lookUpOf(command),
    (ground) => changeBudget(ground, command, principal),
    principal.actingUserName,
  );
  if ('refused' in done) throw new ProblemError(done.refused);
  for (const group of done.kicks) await kick(deps, group, true);
  return shown(await sightOf(deps.store), done.row.id, principal);
}

/** What the change would meet, and nothing written: whatever is decided is given back as a refusal. */
async function preview({ budgets }: Store, command: BudgetCommand, principal: Principal): Promise<BudgetDecision> {
  const decide = (ground: Parameters<Parameters<typeof budgets.change>[1]>[0]) => ({
    refused: changeBudget(ground, command, principal),
  });
  const answer = await budgets.change(lookUpOf(command), decide, principal.actingUserName);
  if (!('refused' in answer)) throw new Error('a preview wrote');
  return answer.refused;
}

export const budgetChecks = ({ store }: ApiDeps) =>
  ({
    async createBudget({ query, body }, { principal, resourceId }) {
      if (!query.dryRun) return;
      const command = { kind: 'create', id: resourceId as Budget['id'], asked: body } as const;
      const decided = await preview(store, command, principal);
      if ('refused' in decided) throw new ProblemError(decided.refused);
    },
  }) satisfies Checks;

/** In tree order after the one that the cursor names. Rows are never removed, so that a cursor stays good. */
function pageOf(
  views: readonly Budget[],
  { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
  keep: (view: Budget) => boolean,
): Page<Budget> {
  const from = cursor === undefined ? 0 : views.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && from === 0) throw invalid('?cursor', 'is no cursor of this list');
  const rest = views.slice(from).filter(keep);
  const items = rest.slice(0, limit);
  return { items, nextCursor: rest.length > limit ? (items.at(-1)?.id ?? null) : null };
}

function treeHandlers(deps: ApiDeps) {
  const { store } = deps;
  return {
    async createBudget({ body }, { principal, reply, resourceId }) {
      const command = { kind: 'create', id: resourceId as Budget['id'], asked: body } as const;
      return withEtag(reply, await change(deps, command, principal));
    },
    async patchBudget({ params, body }, { principal, reply, request }) {
      const command = { kind: 'patch', budget: named(params), asked: body, etag: ifMatchOf(request) } as const;
      return withEtag(reply, await change(deps, command, principal));
    },
    async closeBudget({ params }, { principal, reply, request }) {
      const command = { kind: 'close', budget: named(params), etag: ifMatchOf(request) } as const;
      return withEtag(reply, await change(deps, command, principal));
    },
    async getBudget({ params }, { principal, reply }) {
      const sight = await sightOf(store);
      const { id } = visible(sight.forest, named(params), principal);
      return withEtag(reply, shown(sight, id, principal));
    },
    async listBudgets({ query }, { principal }) {
      const sight = await sightOf(store);
      const { forest } = sight;
      const top = query.below === undefined ? null : visible(forest, named({ budget: query.below }), principal);
      const page = pageOf(budgetViews(sight), query, ({ id, state }) => {
        const row = forest.byId.get(id);
        const isBelow = top === null || forest.lineOf(id).includes(top);
        return row !== undefined && isBelow && (query.closed || state === 'open') && maySee(forest, row, principal);
      });
      return { ...page, items: page.items.map(({ id }) => shown(sight, id, principal)) };
    },
    async listBudgetChanges({ params, query }, { principal }) {
      const sight = await sightOf(store);
      const { id } = visible(sight.forest, named(params), principal);
      const page = await store.budgets.changes(id, query, changeSight(sight.forest, principal));
      return { ...page, items: [...page.items] };
    },
  } satisfies Partial<Handlers>;
}

export function budgetHandlers(deps: ApiDeps): Handlers<Ids> {
  const { budgets } = deps.store;
  return {
    ...treeHandlers(deps),
    explainBudget: ({ params }, { principal }) => explainBudget(deps, params.session, principal),
    getBudgetSettings: async (_input, { reply }) => withEtag(reply, await budgets.settings()),
    async putBudgetSettings({ body }, { principal, reply, request }) {
      const done = await budgets.putSettings(body, { principal, etag: ifMatchOf(request) });
      if (done === 'stale') throw stale('the settings of the budgets');
      for (const group of done.kicks) await kick(deps, group, true);
      return withEtag(reply, done.settings);
    },
  };
}
