import type { BodyOf } from '../sdk/index.js';
import { parseCount, parseDurationSeconds } from './amounts.js';
import { usageError } from './cli-error.js';

type Patch = BodyOf<'patchBudget'>;

/** Options that say how a budget is to be, as written. */
export interface FieldOptions {
  readonly weight?: string;
  readonly cap?: string;
  readonly project?: readonly string[];
  readonly manager?: readonly string[];
}

/** Options that change a list beside what it holds; false with `--no-projects`. */
export interface ListOptions extends FieldOptions {
  readonly addProject?: readonly string[];
  readonly removeProject?: readonly string[];
  readonly addManager?: readonly string[];
  readonly removeManager?: readonly string[];
  readonly projects?: boolean;
  readonly managers?: boolean;
}

/** Collects an option that may stand several times. */
export const collect = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];

export function fieldsOf({
  weight,
  cap,
  project,
  manager,
}: FieldOptions): Pick<Patch, 'weight' | 'minRuntimeCapSeconds' | 'projects' | 'managers'> {
  return {
    ...(weight === undefined ? {} : { weight: parseCount({ name: '--weight', text: weight }) }),
    ...(cap === undefined
      ? {}
      : { minRuntimeCapSeconds: cap === 'none' ? null : parseDurationSeconds({ name: '--cap', text: cap }) }),
    ...(project === undefined ? {} : { projects: [...project] }),
    ...(manager === undefined ? {} : { managers: [...manager] }),
  };
}

interface ListChange {
  readonly name: string;
  readonly set: readonly string[] | undefined;
  readonly none: boolean;
  readonly add: readonly string[] | undefined;
  readonly remove: readonly string[] | undefined;
}

/** The whole list that a change leaves; undefined: it stays. */
function changedList(present: readonly string[], { name, set, none, add, remove }: ListChange): string[] | undefined {
  if (set === undefined && !none && add === undefined && remove === undefined) return undefined;
  if ([set !== undefined, none, add !== undefined || remove !== undefined].filter(Boolean).length > 1) {
    throw usageError(`--${name}, --no-${name}s, and --add-${name} with --remove-${name} exclude each other`);
  }
  if (none) return [];
  if (set !== undefined) return [...set];
  const stranger = remove?.find((one) => !present.includes(one));
  if (stranger !== undefined)
    throw usageError(`--remove-${name}: ${stranger} is none of ${present.join(', ') || 'nothing'}`);
  return [...new Set([...present, ...(add ?? [])])].filter((one) => remove?.includes(one) !== true);
}

/** What `berth budget set` sends, beside what the budget has. */
export function patchOf(
  present: { readonly projects: readonly string[]; readonly managers: readonly string[] },
  options: ListOptions,
): Patch {
  const { project, addProject, removeProject, manager, addManager, removeManager } = options;
  const projects = changedList(present.projects, {
    name: 'project',
    set: project,
    none: options.projects === false,
    add: addProject,
    remove: removeProject,
  });
  const managers = changedList(present.managers, {
    name: 'manager',
    set: manager,
    none: options.managers === false,
    add: addManager,
    remove: removeManager,
  });
  const { weight, cap } = options;
  return {
    ...fieldsOf({ ...(weight === undefined ? {} : { weight }), ...(cap === undefined ? {} : { cap }) }),
    ...(projects === undefined ? {} : { projects }),
    ...(managers === undefined ? {} : { managers }),
  };
}
