import type { ProblemCode, Refusal } from '../contract/problem.js';
import type { BudgetRow } from './budget-facts.js';
import type { BudgetForest } from './budget-forest.js';
import type { ChangeGround } from './change-grounds.js';

/** Of several grounds the first kind names the problem; all are told. */
const PRECEDENCE: readonly ProblemCode[] = ['forbidden', 'invalid_request', 'conflict'];

export function changeRefusal(grounds: readonly ChangeGround[]): Refusal {
  const code = PRECEDENCE.find((kind) => grounds.some((ground) => ground.code === kind)) ?? 'invalid_request';
  const hint = grounds.find((ground) => ground.hint !== undefined)?.hint;
  return {
    code,
    detail: grounds.map(({ message }) => message).join('; '),
    errors: grounds.map(({ pointer, message }) => ({ pointer, message })),
    ...(hint === undefined ? {} : { hint }),
  };
}

export const notFound = (budget: string): Refusal => ({
  code: 'not_found',
  detail: `there is no budget ${budget} that you may see`,
  hint: 'berth budget tree',
});

export const stale = (path: string): Refusal => ({
  code: 'stale',
  detail: `the budget ${path} has changed since you read it; read it again`,
});

export function forbidden(path: string, forest: BudgetForest, row: BudgetRow): Refusal {
  const parent = forest.byId.get(row.parentId ?? '');
  const who = parent === undefined ? 'operators' : `the managers of ${forest.pathOf(parent.id)} or of what is above it`;
  return {
    code: 'forbidden',
    detail: `${path} is changed by ${who}${parent === undefined ? '' : ', and by operators'}`,
  };
}
