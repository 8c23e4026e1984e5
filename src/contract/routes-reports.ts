import { z } from 'zod';
import { budgetReportSchema } from './budget-report.js';
import { timestampSchema } from './ids.js';
import type { Route } from './route.js';

export const REPORT_FORMATS = ['json', 'markdown', 'html'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

const byBudget = z.object({
  budget: z.string().min(1).max(500).describe('an id, or a path with ~ for / (research~nlp); root is the root'),
});
const period = {
  from: timestampSchema.optional().describe('a window before `until` when omitted'),
  until: timestampSchema.optional().describe('not included; now when omitted, and at the latest'),
  idleBelowPercent: z.coerce
    .number()
    .min(0)
    .max(100)
    .default(10)
    .describe('charged sessions that used less of their measured time are listed as paid and idle'),
};

export const REPORT_ROUTES = {
  getBudgetReport: {
    method: 'GET',
    path: '/v1/budgets/:budget/report',
    access: 'user',
    tag: 'budgets',
    summary: 'What became of a period’s GPU-time: waterfall, impact, waits, paid and idle, broken contracts',
    params: byBudget,
    query: z.object({
      ...period,
      format: z
        .enum(REPORT_FORMATS)
        .default('json')
        .describe('markdown and html are for people; html is one file with plots'),
    }),
    status: 200,
    answer: budgetReportSchema,
  },
} as const satisfies Record<string, Route>;
