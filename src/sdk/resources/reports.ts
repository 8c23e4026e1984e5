import type { CallOptions, QueryOf } from '../operations.js';
import type { Transport } from '../transport.js';

type Query = QueryOf<'getBudgetReport'>;

/** A slash would end the path's element: `~` stands for it. */
const params = (budget: string) => ({ budget: budget.replaceAll('/', '~') });

/** Of a budget (a path as research/nlp, an id, or root for the whole tree) and all below it. */
export const reportsOf = (transport: Transport) => ({
  get: (budget: string, query: Omit<Query, 'format'> = {}, options?: CallOptions) =>
    transport.call('getBudgetReport', { params: params(budget), query }, options),
  /** For people: Markdown, or one HTML file with plots. */
  text: (
    budget: string,
    query: Omit<Query, 'format'> & { readonly format: 'markdown' | 'html' },
    options?: CallOptions,
  ) => transport.text('getBudgetReport', { params: params(budget), query }, options),
});
