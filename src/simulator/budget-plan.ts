import { type BudgetNode, type BudgetTree, budgetTree, isLeaf, leavesOf } from '../budgets/budget-tree.js';
import { allocatedTime, claimsOf } from '../budgets/claims.js';
import { minRuntimeCap } from '../budgets/minimum-runtime-cap.js';
import type { SimulatedBudget, SimulationBudgets } from '../contract/simulation-budgets.js';
import { ROOT_BUDGET_ID, ROOT_BUDGET_PATH } from './root-budget.js';
import type { NodeShape } from './simulated-cluster.js';
import type { SimulatedJob } from './simulated-job.js';
import { StreamError } from './stream.js';

type Owner = Pick<SimulatedJob, 'user' | 'project'>;

/** The tree of a run, who charges which leaf, and what each may. GPU-time as in `src/budgets`. */
export interface BudgetPlan {
  readonly tree: BudgetTree;
  readonly claims: ReadonlyMap<string, number>;
  /** `research/nlp`, by id. */
  readonly paths: ReadonlyMap<string, string>;
  readonly windowMs: number;
  /** C of a cluster on which no node fails. */
  readonly capacity: number;
  /** Thousandths, by model. */
  readonly factors: Readonly<Record<string, number>>;
  readonly unallocatedGraceSeconds: number;
  /** The leaf; null: what it runs is charged to nothing. */
  readonly leafOf: (job: Owner) => string | null;
  /** The longest minimum runtime, in ms, that its leaf bears for so many GPUs: asked is cut to it. */
  readonly largestMinRuntimeMs: (job: Pick<SimulatedJob, 'gpus'> & Owner) => number;
}

/** Refuses a tree that the product would refuse, and owners who stand in two leaves. */
export function budgetPlan(
  settings: SimulationBudgets,
  { nodes, owners }: { readonly nodes: readonly NodeShape[]; readonly owners: Iterable<Owner> },
): BudgetPlan {
  const drawn = new Drawing(settings.tree);
  if (settings.each !== null) drawn.addEach(settings.each, owners);
  const checked = budgetTree(drawn.nodes);
  if ('problems' in checked)
    throw new StreamError(`budgets: ${checked.problems.map(({ message }) => message).join('; ')}`);
  const { tree } = checked;
  drawn.checkOwners(tree);
  const claims = claimsOf(tree);
  const factors = Object.fromEntries(
    Object.entries(settings.factors).map(([model, factor]) => [model, Math.round(factor * 1000)]),
  );
  const windowMs = settings.windowSeconds * 1000;
  const factorOf = (model: string): number => factors[model] ?? 1000;
  const capacity =
    nodes.reduce((sum, { count, gpus, gpuModel }) => sum + count * gpus * factorOf(gpuModel), 0) * windowMs;
  const largest = nodes.reduce((most, { gpuModel }) => Math.max(most, factorOf(gpuModel)), 0);
  const leafOf = ({ user, project }: Owner): string | null =>
    drawn.users.get(user) ?? drawn.projects.get(project) ?? null;
  return {
    ...{ tree, claims, windowMs, capacity, factors, leafOf },
    paths: drawn.paths,
    unallocatedGraceSeconds: settings.unallocatedGraceSeconds,
    largestMinRuntimeMs: (job) => {
      const leaf = leafOf(job) ?? '';
      const allocated = allocatedTime(claims.get(leaf) ?? 0, capacity);
      const asked = { milliGpus: job.gpus * largest, minRuntimeMs: 0 };
      return minRuntimeCap(asked, { allocated, capMs: drawn.capsMs.get(leaf) ?? null }).largestMs;
    },
  };
}

/** What the files say, as nodes with ids. */
class Drawing {
  readonly nodes: BudgetNode[] = [];
  readonly paths = new Map<string, string>([[ROOT_BUDGET_ID, ROOT_BUDGET_PATH]]);
  readonly users = new Map<string, string>();
  readonly projects = new Map<string, string>();
  readonly capsMs = new Map<string, number>();

  constructor(tree: SimulationBudgets['tree']) {
    this.nodes.push({ id: ROOT_BUDGET_ID, name: ROOT_BUDGET_PATH, parentId: null, domainId: null, weight: 1 });
    this.#below(tree, { id: ROOT_BUDGET_ID, path: '' });
  }

  addEach(what: 'project' | 'user', owners: Iterable<Owner>): void {
    const names = new Set<string>();
    for (const owner of owners)
      if (!this.users.has(owner.user) && !this.projects.has(owner.project)) names.add(owner[what]);
    for (const name of [...names].toSorted()) {
      const id = this.#add(name, 1, { id: ROOT_BUDGET_ID, path: '' });
      (what === 'user' ? this.users : this.projects).set(name, id);
    }
  }

  /** Only leaves are charged. */
  checkOwners(tree: BudgetTree): void {
    for (const id of new Set([...this.users.values(), ...this.projects.values()]))
      if (!isLeaf(tree, id))
        throw new StreamError(`budgets: ${this.paths.get(id)} has budgets below it: those are charged`);
    if (leavesOf(tree).length === 1 && tree.nodes.length === 1)
      throw new StreamError('budgets: the tree is empty: name budgets under tree, or say each: project');
  }

  #below(level: SimulationBudgets['tree'], parent: { readonly id: string; readonly path: string }): void {
    for (const [name, budget] of Object.entries(level)) {
      const id = this.#add(name, budget.weight, parent);
      this.#owners(id, budget);
      this.#below(budget.budgets, { id, path: this.paths.get(id) ?? name });
    }
  }

  #add(name: string, weight: number, parent: { readonly id: string; readonly path: string }): string {
    const id = `bgt_${String(this.nodes.length).padStart(26, '0')}`;
    this.nodes.push({ id, name, parentId: parent.id, domainId: 'domain', weight });
    this.paths.set(id, parent.path === '' ? name : `${parent.path}/${name}`);
    return id;
  }

  #owners(id: string, { users, projects, minRuntimeCapSeconds }: SimulatedBudget): void {
    if (minRuntimeCapSeconds !== null) this.capsMs.set(id, minRuntimeCapSeconds * 1000);
    const note = (known: Map<string, string>, names: readonly string[], kind: string): void => {
      for (const name of names) {
        const other = known.get(name);
        if (other !== undefined)
          throw new StreamError(
            `budgets: the ${kind} ${name} stands under ${this.paths.get(other)} and ${this.paths.get(id)}`,
          );
        known.set(name, id);
      }
    };
    note(this.users, users, 'user');
    note(this.projects, projects, 'project');
  }
}
