import type { FastifyReply } from 'fastify';
import { type BudgetForest, findBudget, forestOf } from '../../budgets/budget-forest.js';
import { managesBelow, maySee } from '../../budgets/budget-rights.js';
import { reportFor } from '../../budgets/report-for.js';
import type { BudgetReport, OperationId, Principal, RouteInput } from '../../contract/index.js';
import { reportHtml } from '../../reports/report-html.js';
import { reportMarkdown } from '../../reports/report-markdown.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';
import { found, invalid, notFound } from '../problem.js';
import { readReport } from '../read-report.js';

type Ids = Extract<OperationId, 'getBudgetReport'>;
type Query = RouteInput<'getBudgetReport'>['query'];

export function reportHandlers(deps: ApiDeps): Handlers<Ids> {
  const { store } = deps;
  return {
    async getBudgetReport({ params, query }, { principal, reply }) {
      const { at, settings, rows } = await store.budgets.facts();
      const forest = forestOf(rows);
      const path = params.budget.replaceAll('~', '/');
      const row = findBudget(forest, path);
      if (row === null || !maySee(forest, row, principal)) throw notFound(`budget ${path}`);
      const viewer = managesBelow(forest, row, principal) ? null : principal;
      const period = periodOf(query, { nowMs: Date.parse(at), windowMs: settings.windowSeconds * 1000 });
      const wish = { ...period, budgetId: row.id, rows, idleBelowPercent: query.idleBelowPercent, viewer };
      const report = found(await readReport(store, wish), `budget ${path}`);
      const shown = await withGroups(deps, reportFor(report, sightOf(forest, principal)), principal);
      return query.format === 'json' ? shown : ((await sendText(reply, shown, query.format)) as never);
    },
  };
}

/** Until now at the latest: what is ahead is in no report. */
function periodOf({ from, until }: Query, { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number }) {
  const untilMs = Math.min(nowMs, until === undefined ? nowMs : Date.parse(until));
  const fromMs = from === undefined ? untilMs - windowMs : Date.parse(from);
  if (fromMs >= untilMs) throw invalid('/from', 'a period that begins before its end, and before the present');
  return { fromMs, untilMs };
}

function sightOf(forest: BudgetForest, principal: Principal) {
  const visible = new Set(
    forest.rows.filter((row) => maySee(forest, row, principal)).map(({ id }) => forest.pathOf(id)),
  );
  return {
    seesBudget: (path: string): boolean => visible.has(path),
    seesProject: (project: string): boolean =>
      principal.role === 'operator' || project.startsWith(`${principal.domainName}/`),
  };
}

async function withGroups({ store }: ApiDeps, report: BudgetReport, principal: Principal): Promise<BudgetReport> {
  const visible = await Promise.all(
    report.groups.map(async (name) => ((await store.settings.getGroup(name, principal)) === null ? [] : [name])),
  );
  return { ...report, groups: visible.flat() };
}

async function sendText(reply: FastifyReply, report: BudgetReport, format: 'markdown' | 'html'): Promise<void> {
  const text = format === 'html' ? await reportHtml(report) : reportMarkdown(report);
  await reply.type(`text/${format}; charset=utf-8`).serializer(String).send(text);
}
