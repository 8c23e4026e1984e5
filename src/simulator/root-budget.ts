import type { ROOT_BUDGET_ID as ROOT_ID, ROOT_BUDGET_PATH as ROOT_PATH } from '../contract/budget.js';

/** The contract's own: the pure part knows it by its type alone. */
export const ROOT_BUDGET_ID = 'bgt_00000000000000000000000000' satisfies typeof ROOT_ID;
export const ROOT_BUDGET_PATH = 'root' satisfies typeof ROOT_PATH;
