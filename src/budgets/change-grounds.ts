import type { ProblemCode } from '../contract/problem.js';
import type { BudgetGround, BudgetRow } from './budget-facts.js';
import { type BudgetForest, isOpen, isRoot } from './budget-forest.js';

/** A reason against a change: the field, and what would mend it. */
export interface ChangeGround {
  readonly code: ProblemCode;
  readonly pointer: string;
  readonly message: string;
  /** A command that helps. */
  readonly hint?: string;
}

/** A budget as it would be after the change. `projects` and `managers` as they were named. */
export interface WantedBudget {
  readonly id: BudgetRow['id'];
  readonly name: string;
  readonly weight: number;
  readonly projects: readonly string[];
  readonly managers: readonly string[];
  readonly domainId: string | null;
  readonly parent: BudgetRow;
}

export interface Surroundings {
  readonly ground: BudgetGround;
  readonly forest: BudgetForest;
}

const invalid = (pointer: string, message: string): ChangeGround => ({ code: 'invalid_request', pointer, message });
const conflict = (pointer: string, message: string, hint?: string): ChangeGround => ({
  code: 'conflict',
  pointer,
  message,
  ...(hint === undefined ? {} : { hint }),
});

export const weightGrounds = ({ weight }: Pick<WantedBudget, 'weight'>): readonly ChangeGround[] =>
  Number.isSafeInteger(weight) && weight >= 0
    ? []
    : [invalid('/weight', `${weight} is no weight: a whole number, 0 or more`)];

/** Names are unique among the open siblings; `root` is the root's alone, since a path of that name means it. */
export function nameGrounds({ forest }: Surroundings, wanted: WantedBudget, pointer: string): readonly ChangeGround[] {
  if (isRoot(wanted.parent) && wanted.name === 'root')
    return [invalid(pointer, 'root is the name of the root: take another')];
  const taken = forest.childrenOf(wanted.parent.id).find(({ id, name }) => name === wanted.name && id !== wanted.id);
  if (taken === undefined) return [];
  const path = forest.pathOf(taken.id);
  return [conflict(pointer, `there is a budget ${path} already: take another name`, `berth budget show ${path}`)];
}

/** What a budget may be put below: an open one, not below itself, that nothing is charged to. */
export function parentGrounds({ ground, forest }: Surroundings, wanted: WantedBudget): readonly ChangeGround[] {
  const { parent, id } = wanted;
  const path = forest.pathOf(parent.id);
  const isBelowItself = forest.lineOf(parent.id).some((above) => above.id === id);
  if (isBelowItself) {
    const own = forest.pathOf(id);
    const how = path === own ? `${path} would be its own parent` : `${path} lies below ${own}`;
    return [invalid('/parent', `${how}: a budget is never below itself; name a parent elsewhere in the tree`)];
  }
  return [
    ...(isOpen(parent)
      ? []
      : [conflict('/parent', `${path} was closed at ${parent.closedAt}: name an open budget as the parent`)]),
    ...(parent.projects.length === 0
      ? []
      : [
          conflict(
            '/parent',
            `${path} is a leaf that ${parent.projects.map((project) => project.path).join(', ')} may charge: take its projects away first, only a leaf has any`,
            `berth budget set ${path} --no-projects`,
          ),
        ]),
    ...openSessionGrounds({ ground, forest }, parent, '/parent'),
  ];
}

/** Sessions that have not ended charge the budget. */
export function openSessionGrounds(
  { ground, forest }: Surroundings,
  row: Pick<BudgetRow, 'id'>,
  pointer: string,
): readonly ChangeGround[] {
  const open = ground.openSessions.filter(({ budgetId }) => budgetId === row.id);
  const [first] = open;
  if (first === undefined) return [];
  const named = open.slice(0, 5).map(({ name }) => name);
  const more = open.length > named.length ? ` and ${open.length - named.length} more` : '';
  const path = forest.pathOf(row.id);
  const message = `sessions that have not ended charge ${path}: ${named.join(', ')}${more}; let them end, or stop them`;
  return [conflict(pointer, message, `berth stop ${first.name}`)];
}

/** Its domain is its parent's; a child of the root names its own. `asked` is what the request named. */
export function domainGrounds(
  { ground, forest }: Surroundings,
  wanted: WantedBudget,
  asked: string | undefined,
): readonly ChangeGround[] {
  const { parent } = wanted;
  const known = asked === undefined ? undefined : ground.domains.find(({ name }) => name === asked);
  if (asked !== undefined && known === undefined) return [invalid('/domain', `there is no domain ${asked}`)];
  if (isRoot(parent)) {
    return wanted.domainId === null
      ? [invalid('/domain', 'a child of the root names its domain: say which (berth budget create NAME --domain …)')]
      : [];
  }
  if (wanted.domainId === parent.domainId) return [];
  const pointer = asked === undefined ? '/parent' : '/domain';
  const path = forest.pathOf(parent.id);
  return [
    invalid(
      pointer,
      `${path} is of the domain ${parent.domain}, ${wanted.name} would be of another: a budget is of its parent's domain`,
    ),
  ];
}

/** Projects of its own domain, and only on a leaf. */
export function projectGrounds({ ground, forest }: Surroundings, wanted: WantedBudget): readonly ChangeGround[] {
  if (wanted.projects.length === 0) return [];
  const children = forest.childrenOf(wanted.id);
  const [first] = children;
  const inner =
    first === undefined
      ? []
      : [
          invalid(
            '/projects',
            `only a leaf is charged, and ${wanted.name} has budgets below it: name the projects at ${children.map(({ id }) => forest.pathOf(id)).join(' or ')}`,
          ),
        ];
  const each = wanted.projects.flatMap((path, index): readonly ChangeGround[] => {
    const pointer = `/projects/${index}`;
    const known = ground.projects.find((project) => project.path === path);
    if (known === undefined)
      return [
        invalid(
          pointer,
          path.includes('/') ? `there is no project ${path}` : `there is no project ${path}: write domain/project`,
        ),
      ];
    if (wanted.domainId === null || known.domainId === wanted.domainId) return [];
    return [invalid(pointer, `the project ${path} is of another domain than the budget`)];
  });
  return [...inner, ...each];
}

export const managerGrounds = ({ ground }: Surroundings, wanted: WantedBudget): readonly ChangeGround[] =>
  wanted.managers.flatMap((path, index) =>
    ground.users.some((user) => user.path === path)
      ? []
      : [invalid(`/managers/${index}`, `there is no user ${path}: write domain/user`)],
  );

/** A budget is closed from below: its claim must be nobody's, and nothing may still be charged to it. */
export function closeGrounds(around: Surroundings, row: BudgetRow): readonly ChangeGround[] {
  if (isRoot(row)) return [invalid('', 'the root is never closed')];
  const children = around.forest.childrenOf(row.id).map(({ id }) => around.forest.pathOf(id));
  const open =
    children.length === 0
      ? []
      : [
          conflict(
            '',
            `budgets below it are open: ${children.join(', ')}; close or move them first`,
            `berth budget close ${children[0]}`,
          ),
        ];
  return [...open, ...openSessionGrounds(around, row, '')];
}
