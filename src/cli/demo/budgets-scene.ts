import type { BudgetSettings } from '../../contract/index.js';
import { usageError } from '../cli-error.js';
import type { DemoOptions } from './demo-options.js';

type Options = Pick<DemoOptions, 'admin' | 'group' | 'say'>;

/** Of weight 1 each, below one of the demonstration's own: what else stands in the tree asks for nothing meanwhile. */
export const PROGRAMS = ['greedy', 'patient'] as const;
export type Program = (typeof PROGRAMS)[number];
const PARENT = 'demo-programs';
export const budgetOf = (program: Program): string => `${PARENT}/${program}`;
export const projectOf = (program: Program): string => `demo-${program}`;

/** The window is the whole tree's: nobody else may be ordered by it meanwhile. */
export async function mustBeAlone({ admin, group }: Options): Promise<void> {
  const groups = await admin.groups.list().toArray();
  const others = groups.filter(({ name, policy }) => name !== group && policy.order === 'fair-share');
  if (others.length === 0) return;
  const names = others.map(({ name }) => name).join(', ');
  throw usageError(
    `the demonstration shortens the window of the budgets, and these groups are ordered by them: ${names}`,
    `berth group set ${others[0]?.name ?? ''} order=fifo`,
  );
}

/** Budgets and a short window while `work` runs; the budgets are closed and the settings as before afterwards, whatever happens. */
export async function withBudgets(
  options: Options,
  { domain, windowSeconds }: { readonly domain: string; readonly windowSeconds: number },
  work: () => Promise<void>,
): Promise<void> {
  const { etag: _, ...before } = await options.admin.budgets.settings();
  await closeAll(options);
  await putSettings(options, { ...before, windowSeconds, halfLifeSeconds: null, unallocatedGraceSeconds: 1 });
  try {
    await options.admin.budgets.create({ name: PARENT, domain });
    for (const program of PROGRAMS) {
      const project = `${domain}/${projectOf(program)}`;
      await options.admin.budgets.create({ name: program, parent: PARENT, weight: 1, projects: [project] });
    }
    await work();
  } finally {
    await closeAll(options);
    await putSettings(options, before);
  }
}

async function putSettings({ admin }: Options, wanted: BudgetSettings): Promise<void> {
  const { etag } = await admin.budgets.settings();
  await admin.budgets.putSettings(wanted, { ifMatch: etag });
}

/** From the leaves up. What was left by a demonstration that was cut is closed as well. */
async function closeAll({ admin }: Options): Promise<void> {
  const open = await admin.budgets.list().toArray();
  const own = open.filter(({ path }) => path === PARENT || path.startsWith(`${PARENT}/`));
  for (const { path, etag } of own.toSorted((a, b) => b.depth - a.depth)) {
    await admin.budgets.close(path, { ifMatch: etag });
  }
}
