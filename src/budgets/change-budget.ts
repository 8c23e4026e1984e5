import type { BudgetId, CreateBudget, PatchBudget, Refusal } from '../contract/index.js';
import type { BudgetGround, BudgetRow, BudgetWrite } from './budget-facts.js';
import { type BudgetForest, findBudget, forestOf, isOpen, isRoot } from './budget-forest.js';
import { type BudgetPerson, managesBelow, mayChange, maySee } from './budget-rights.js';
import {
  type ChangeGround,
  closeGrounds,
  domainGrounds,
  managerGrounds,
  nameGrounds,
  parentGrounds,
  projectGrounds,
  type Surroundings,
  type WantedBudget,
  weightGrounds,
} from './change-grounds.js';
import { changeRefusal, forbidden, notFound, stale } from './change-refusal.js';

/** A change that somebody asks for. `budget` is a path or an id; `etag` what the caller has read, null: whatever it is now. */
export type BudgetCommand =
  | { readonly kind: 'create'; readonly id: BudgetId; readonly asked: CreateBudget }
  | {
      readonly kind: 'patch';
      readonly budget: string;
      readonly asked: PatchBudget;
      readonly etag: string | null;
    }
  | { readonly kind: 'close'; readonly budget: string; readonly etag: string | null };

export type BudgetDecision = { readonly write: BudgetWrite } | { readonly refused: Refusal };

/** Names that the change has to be told the ids of. */
export function lookUpOf(command: BudgetCommand): {
  readonly domains: readonly string[];
  readonly projects: readonly string[];
  readonly users: readonly string[];
} {
  if (command.kind === 'close') return { domains: [], projects: [], users: [] };
  const { projects = [], managers = [] } = command.asked;
  const domain = command.kind === 'create' ? command.asked.domain : undefined;
  return { domains: domain === undefined ? [] : [domain], projects, users: managers };
}

/**
 * Decides a change of the tree: what to write, or everything that stands against it, each with its field and its remedy.
 * A change that was made already is granted again and writes nothing new.
 */
export function changeBudget(ground: BudgetGround, command: BudgetCommand, by: BudgetPerson): BudgetDecision {
  const around = { ground, forest: forestOf(ground.rows) };
  if (command.kind === 'create') return create(around, command, by);
  const row = findBudget(around.forest, command.budget);
  if (row === null || !maySee(around.forest, row, by)) return { refused: notFound(command.budget) };
  const path = around.forest.pathOf(row.id);
  if (!mayChange(around.forest, row, by)) return { refused: forbidden(path, around.forest, row) };
  if (command.etag !== null && command.etag !== row.etag) return { refused: stale(path) };
  return command.kind === 'patch' ? patch(around, row, { ...command, by }) : close(around, row);
}

function create(
  around: Surroundings,
  { id, asked }: Extract<BudgetCommand, { kind: 'create' }>,
  by: BudgetPerson,
): BudgetDecision {
  const { forest, ground } = around;
  const made = forest.byId.get(id);
  if (made !== undefined) return { write: { row: writtenOf(made), history: [] } };
  const parent = visibleParent(forest, asked.parent, by);
  const basics = [...weightGrounds(asked)];
  if (parent === null) return refuse([...basics, unknownParent(asked.parent)]);
  const domainId = domainOf(around, parent, asked.domain);
  const wanted = { ...asked, id, domainId, parent };
  const grounds = [
    ...basics,
    ...rightGrounds(forest, parent, by),
    ...nameGrounds(around, wanted, '/name'),
    ...parentGrounds(around, wanted),
    ...domainGrounds(around, wanted, asked.domain),
    ...projectGrounds(around, wanted),
    ...managerGrounds(around, wanted),
  ];
  if (grounds.length > 0) return refuse(grounds);
  const path = isRoot(parent) ? asked.name : `${forest.pathOf(parent.id)}/${asked.name}`;
  const after = {
    parent: forest.pathOf(parent.id),
    weight: asked.weight,
    projects: unique(asked.projects),
    managers: unique(asked.managers),
    minRuntimeCapSeconds: asked.minRuntimeCapSeconds,
  };
  return {
    write: {
      row: { ...named(ground, wanted), parentId: parent.id, capMs: capOf(asked.minRuntimeCapSeconds), closedAt: null },
      history: [{ budget: path, field: 'created', before: null, after }],
    },
  };
}

/** The domain that it would have: its own below the root (as named), else its parent's unless it names another. */
function domainOf({ ground }: Surroundings, parent: BudgetRow, asked: string | undefined): string | null {
  const known = ground.domains.find(({ name }) => name === asked)?.id ?? null;
  return isRoot(parent) || known !== null ? known : parent.domainId;
}

function patch(
  around: Surroundings,
  row: BudgetRow,
  { asked, by }: { readonly asked: PatchBudget; readonly by: BudgetPerson },
): BudgetDecision {
  const { forest, ground } = around;
  const path = forest.pathOf(row.id);
  if (!isOpen(row)) {
    const message = `${path} was closed at ${row.closedAt}: what is closed stays as it was`;
    return refuse([{ code: 'conflict', pointer: '', message }]);
  }
  if (isRoot(row)) return patchRoot(around, row, asked);
  const present = forest.byId.get(row.parentId ?? '') ?? row;
  const parent = asked.parent === undefined ? present : visibleParent(forest, asked.parent, by);
  const wanted = { ...wishesOf(row, asked), parent: parent ?? present };
  const moves = parent !== null && parent.id !== row.parentId;
  const grounds = [
    ...weightGrounds(wanted),
    ...(parent === null ? [unknownParent(asked.parent ?? '')] : []),
    ...(moves ? moveGrounds(around, wanted, by) : []),
    ...(asked.projects === undefined ? [] : projectGrounds(around, wanted)),
    ...(asked.managers === undefined ? [] : managerGrounds(around, wanted)),
  ];
  if (grounds.length > 0) return refuse(grounds);
  return {
    write: {
      row: {
        ...writtenOf(row),
        weight: wanted.weight,
        parentId: wanted.parent.id,
        capMs: asked.minRuntimeCapSeconds === undefined ? row.capMs : capOf(asked.minRuntimeCapSeconds),
        ...(asked.projects === undefined ? {} : { projectIds: named(ground, wanted).projectIds }),
        ...(asked.managers === undefined ? {} : { managerIds: named(ground, wanted).managerIds }),
      },
      history: historyOf(forest, row, { asked, parent: wanted.parent }),
    },
  };
}

const wishesOf = (row: BudgetRow, asked: PatchBudget): Omit<WantedBudget, 'parent'> => ({
  id: row.id,
  name: row.name,
  domainId: row.domainId,
  weight: asked.weight ?? row.weight,
  projects: asked.projects ?? [],
  managers: asked.managers ?? [],
});

/** A move needs the right on both sides: that on the present parent was looked at already. */
const moveGrounds = (around: Surroundings, wanted: WantedBudget, by: BudgetPerson): readonly ChangeGround[] => [
  ...rightGrounds(around.forest, wanted.parent, by),
  ...nameGrounds(around, wanted, '/parent'),
  ...parentGrounds(around, wanted),
  ...domainGrounds(around, wanted, undefined),
];

/** The root has no siblings, no parent, and is charged by nobody: only its managers can change. */
function patchRoot(around: Surroundings, row: BudgetRow, asked: PatchBudget): BudgetDecision {
  const fixed = (['parent', 'weight', 'projects', 'minRuntimeCapSeconds'] as const).filter(
    (field) => asked[field] !== undefined,
  );
  const wanted = { ...wishesOf(row, asked), parent: row };
  const grounds = [
    ...fixed.map((field): ChangeGround => {
      const message = 'the root has no parent and no siblings, and is charged by nobody: only managers can be set';
      return { code: 'invalid_request', pointer: `/${field}`, message };
    }),
    ...(asked.managers === undefined ? [] : managerGrounds(around, wanted)),
  ];
  if (grounds.length > 0) return refuse(grounds);
  const managerIds = asked.managers === undefined ? {} : { managerIds: named(around.ground, wanted).managerIds };
  return {
    write: {
      row: { ...writtenOf(row), ...managerIds },
      history: historyOf(around.forest, row, { asked, parent: null }),
    },
  };
}

function close(around: Surroundings, row: BudgetRow): BudgetDecision {
  if (!isOpen(row)) return { write: { row: writtenOf(row), history: [] } };
  const grounds = closeGrounds(around, row);
  if (grounds.length > 0) return refuse(grounds);
  const { at } = around.ground;
  const budget = around.forest.pathOf(row.id);
  return {
    write: {
      row: { ...writtenOf(row), closedAt: at },
      history: [{ budget, field: 'closed', before: null, after: at }],
    },
  };
}

/** Only what became different; under the path that it had. */
function historyOf(
  forest: BudgetForest,
  row: BudgetRow,
  { asked, parent }: { readonly asked: PatchBudget; readonly parent: BudgetRow | null },
): BudgetWrite['history'] {
  const budget = forest.pathOf(row.id);
  const cap = row.capMs === null ? null : row.capMs / 1000;
  const fields = [
    ['weight', row.weight, asked.weight ?? row.weight],
    ['parent', row.parentId && forest.pathOf(row.parentId), parent && forest.pathOf(parent.id)],
    ['projects', pathsOf(row.projects), unique(asked.projects ?? pathsOf(row.projects))],
    ['managers', pathsOf(row.managers), unique(asked.managers ?? pathsOf(row.managers))],
    ['minRuntimeCapSeconds', cap, asked.minRuntimeCapSeconds === undefined ? cap : asked.minRuntimeCapSeconds],
  ] as const;
  return fields.flatMap(([field, before, after]) =>
    String(before) === String(after) ? [] : [{ budget, field, before, after }],
  );
}

const pathsOf = (list: readonly { readonly path: string }[]): readonly string[] =>
  list.map(({ path }) => path).toSorted();
const unique = (list: readonly string[]): readonly string[] => [...new Set(list)].toSorted();
const capOf = (seconds: number | null): number | null => (seconds === null ? null : Math.round(seconds * 1000));
const refuse = (grounds: readonly ChangeGround[]): BudgetDecision => ({ refused: changeRefusal(grounds) });

const visibleParent = (forest: BudgetForest, path: string, by: BudgetPerson): BudgetRow | null => {
  const row = findBudget(forest, path);
  return row !== null && maySee(forest, row, by) ? row : null;
};
const unknownParent = (path: string): ChangeGround => ({
  code: 'invalid_request',
  pointer: '/parent',
  message: `there is no budget ${path} that you may see`,
  hint: 'berth budget tree',
});

const rightGrounds = (forest: BudgetForest, parent: BudgetRow, by: BudgetPerson): readonly ChangeGround[] =>
  managesBelow(forest, parent, by)
    ? []
    : [
        {
          code: 'forbidden',
          pointer: '/parent',
          message: `what lies below ${forest.pathOf(parent.id)} is changed by its managers and by operators`,
        },
      ];

const writtenOf = (row: BudgetRow): BudgetWrite['row'] => ({
  id: row.id,
  name: row.name,
  parentId: row.parentId,
  domainId: row.domainId,
  weight: row.weight,
  capMs: row.capMs,
  closedAt: row.closedAt,
  projectIds: row.projects.map(({ id }) => id),
  managerIds: row.managers.map(({ id }) => id),
});

const named = (ground: BudgetGround, wanted: WantedBudget) => ({
  id: wanted.id,
  name: wanted.name,
  domainId: wanted.domainId,
  weight: wanted.weight,
  projectIds: ground.projects.filter(({ path }) => wanted.projects.includes(path)).map(({ id }) => id),
  managerIds: ground.users.filter(({ path }) => wanted.managers.includes(path)).map(({ id }) => id),
});
