import { flagDuration, gpuHoursText, gpusText, hoursText, spanText } from '../budgets/amount-texts.js';
import type { BudgetFacts, BudgetRow } from '../budgets/budget-facts.js';
import { type BudgetForest, findBudget, forestOf, isOpen, isOpenLeaf } from '../budgets/budget-forest.js';
import { openClaims } from '../budgets/budget-view.js';
import { deviceKinds, milliGpusAsked } from '../budgets/charged-gpus.js';
import { allocatedTime } from '../budgets/claims.js';
import { minRuntimeCap } from '../budgets/minimum-runtime-cap.js';
import type { GroupPolicy } from '../contract/group-policy.js';
import type { BudgetId } from '../contract/ids.js';
import type { ProblemCode } from '../contract/problem.js';
import type { SessionKind } from '../contract/session-kinds.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import type { Request } from './demand.js';

/** What a request says of its contract, as it was written. */
export interface ContractWishes {
  readonly kind: SessionKind;
  /** A path or an id. */
  readonly budget: string | null;
  readonly minRuntimeSeconds: number;
  /** undefined: the kind decides. */
  readonly preemptible: boolean | undefined;
}

export interface ContractQuestion {
  readonly contract?: ContractWishes | undefined;
  /** null: the group does not order by fair share. */
  readonly budgets?: Pick<BudgetFacts, 'settings' | 'presentMilliGpus' | 'rows'> | null | undefined;
  readonly request: Pick<Request, 'kernels' | 'gpuModel'>;
  readonly nodes: readonly Pick<SnapshotNode, 'devices'>[];
  readonly group: { readonly name?: string; readonly policy?: GroupPolicy } | null;
  readonly project: { readonly id?: string; readonly name: string; readonly domain?: string } | null;
}

export interface ContractGround {
  readonly code: ProblemCode;
  readonly pointer: string;
  readonly message: string;
  readonly hint?: string;
}

const invalid = (pointer: string, message: string, hint?: string): ContractGround => ({
  code: 'invalid_request',
  pointer,
  message,
  ...(hint === undefined ? {} : { hint }),
});

/** Everything of a request's contract that its group or its budget does not take. */
export function contractGrounds(question: ContractQuestion): readonly ContractGround[] {
  const { contract, budgets, group } = question;
  if (contract === undefined || group === null) return [];
  if (budgets === null || budgets === undefined) return withoutBudgets(contract, group);
  const forest = forestOf(budgets.rows);
  return [...leafGrounds(question, forest), ...preemptibleGrounds(question)];
}

/** The leaf that is charged, where the request names one that its project may charge. */
export function chargedBudget({ contract, budgets, project }: ContractQuestion): BudgetId | null {
  if (contract?.budget == null || budgets == null) return null;
  const row = findBudget(forestOf(budgets.rows), contract.budget);
  return row !== null && isListed(row, project) ? row.id : null;
}

/** Where sessions go by priority and age nothing is charged: a budget is a slip of the pen, or the wrong group. */
function withoutBudgets({ budget }: ContractWishes, { name, policy }: NonNullable<ContractQuestion['group']>) {
  if (budget === null) return [];
  const message = `the group ${name ?? ''} orders by ${policy?.order ?? 'fifo'}: nothing is charged there; leave the budget out, or name a group that orders by fair share`;
  return [invalid('/budget', message, 'berth group ls -o wide')];
}

const isListed = (row: BudgetRow, project: ContractQuestion['project']): boolean =>
  project !== null && row.projects.some(({ id }) => id === project.id);

const pathOfProject = ({ name, domain }: NonNullable<ContractQuestion['project']>): string =>
  domain === undefined ? name : `${domain}/${name}`;

function leafGrounds(question: ContractQuestion, forest: BudgetForest): readonly ContractGround[] {
  const { contract, project } = question;
  if (contract === undefined || project === null) return [];
  const { budget, minRuntimeSeconds } = contract;
  const choices = choicesOf(forest, project);
  if (budget === null) return minRuntimeSeconds > 0 ? [unnamed(choices, project)] : [];
  const row = findBudget(forest, budget);
  const mayKnow = row !== null && (isListed(row, project) || row.domain === null || row.domain === project.domain);
  if (row === null || !mayKnow)
    return [invalid('/budget', `there is no budget ${budget}${orOne(choices)}`, hintOf(choices))];
  const path = forest.pathOf(row.id);
  if (!isOpen(row))
    return [invalid('/budget', `${path} was closed at ${row.closedAt}${orOne(choices)}`, hintOf(choices))];
  if (!isOpenLeaf(forest, row)) {
    const below = choices.filter((choice) => row.parentId === null || choice.startsWith(`${path}/`));
    return [invalid('/budget', `${path} is no leaf, and only leaves are charged${orOne(below)}`, hintOf(below))];
  }
  if (!isListed(row, project)) {
    const message = `the project ${pathOfProject(project)} may not charge ${path}${orOne(choices)}`;
    return [invalid('/budget', message, hintOf(choices))];
  }
  return minRuntimeSeconds > 0 ? capGrounds(question, { row, path }) : [];
}

/** Paths of the open leaves that the project may charge, by name. */
const choicesOf = (forest: BudgetForest, project: ContractQuestion['project']): readonly string[] =>
  forest.rows
    .filter((row) => isOpenLeaf(forest, row) && isListed(row, project))
    .map(({ id }) => forest.pathOf(id))
    .toSorted();

const orOne = (choices: readonly string[]): string =>
  choices.length === 0 ? '' : `: name ${choices.length === 1 ? '' : 'one of '}${choices.join(', ')}`;
const hintOf = ([first]: readonly string[]): string =>
  first === undefined ? 'berth budget tree' : `berth run --budget ${first} …`;

function unnamed(choices: readonly string[], project: NonNullable<ContractQuestion['project']>): ContractGround {
  const path = pathOfProject(project);
  if (choices.length === 0) {
    const message = `a minimum runtime is charged to a budget, and the project ${path} may charge none: leave the minimum runtime out, or have the project added to one`;
    return invalid('/budget', message, `berth budget set PATH --add-project ${path}`);
  }
  return invalid('/budget', `a minimum runtime is charged to a budget${orOne(choices)}`, hintOf(choices));
}

/** Why a leaf has nothing at all now. Without a healthy GPU nobody has: what was admitted then could be more than all that comes back. */
function nothingBecause(claim: number, presentMilliGpus: number): string {
  if (presentMilliGpus === 0) return ' (no GPU is healthy now)';
  return claim === 0 ? ' (it claims nothing: its weight or one above it is 0)' : '';
}

/** GPUs × m within all of the leaf's allocated time, by what is healthy now, and m within the cap that its owner set. */
function capGrounds(
  { contract, budgets, request, nodes }: ContractQuestion,
  { row, path }: { readonly row: BudgetRow; readonly path: string },
): readonly ContractGround[] {
  if (contract === undefined || budgets == null) return [];
  const { settings, presentMilliGpus, rows } = budgets;
  const factors = Object.fromEntries(
    Object.entries(settings.factors).map(([model, factor]) => [model, Math.round(factor * 1000)]),
  );
  const kinds = deviceKinds(
    nodes.flatMap(({ devices }) => devices),
    factors,
  );
  const milliGpus = milliGpusAsked(kinds, request);
  const claim = openClaims(rows).get(row.id) ?? 0;
  const windowMs = settings.windowSeconds * 1000;
  const allocated = allocatedTime(claim, presentMilliGpus * windowMs);
  const minRuntimeMs = Math.round(contract.minRuntimeSeconds * 1000);
  const { allowed, largestMs } = minRuntimeCap({ milliGpus, minRuntimeMs }, { allocated, capMs: row.capMs });
  if (allowed) return [];
  const message =
    row.capMs !== null && largestMs === row.capMs
      ? `${path} takes minimum runtimes of at most ${spanText(row.capMs)}`
      : `${gpusText(milliGpus)} for ${hoursText(minRuntimeMs)} are ${gpuHoursText(milliGpus * minRuntimeMs)}, ${path} has ${gpuHoursText(allocated)} allocated in ${spanText(windowMs)}${nothingBecause(claim, presentMilliGpus)}: the largest minimum runtime is ${hoursText(largestMs)}`;
  const largestSeconds = Math.floor(largestMs / 1000);
  const hint =
    largestSeconds > 0
      ? `berth run --budget ${path} --min-runtime ${flagDuration(largestSeconds)} …`
      : 'berth budget tree';
  return [{ code: 'quota_exceeded', pointer: '/minRuntimeSeconds', message, hint }];
}

const NEVER_STOPPED: ReadonlySet<SessionKind> = new Set(['inference', 'system']);

/**
 * Whatever runs can be stopped once its minimum is over, so that GPUs come free at a time known in advance. Replicas and the
 * platform's own work are spared, and have to be charged for it.
 */
function preemptibleGrounds({ contract, request }: ContractQuestion): readonly ContractGround[] {
  if (contract === undefined) return [];
  const { kind, preemptible, budget, minRuntimeSeconds } = contract;
  if (!NEVER_STOPPED.has(kind)) {
    const message =
      'where fair share orders, whatever runs may be stopped once its minimum runtime is over: ask for a longer one instead';
    return preemptible === false
      ? [invalid('/preemptible', message, 'berth run --budget PATH --min-runtime 4h …')]
      : [];
  }
  const usesGpus = request.kernels.some(({ slots }) => slots.gpuCount > 0 || slots.gpuMemoryBytes > 0);
  if (preemptible === true || !usesGpus || (budget !== null && minRuntimeSeconds > 0)) return [];
  const message = `${kind} sessions are not stopped for others, so they are charged: name a budget and a minimum runtime, or let it be preemptible`;
  return [invalid('/preemptible', message, 'berth run --preemptible …')];
}
