/** One budget. A leaf is charged; the weight says how it shares with its siblings and is set by who manages its parent. */
export interface BudgetNode {
  readonly id: string;
  readonly name: string;
  /** null: the root, of which there is one. */
  readonly parentId: string | null;
  /** null: the root alone. */
  readonly domainId: string | null;
  /** A whole number, 0 or more. */
  readonly weight: number;
}

/** A checked tree: parents before children, siblings by name. */
export interface BudgetTree {
  readonly nodes: readonly BudgetNode[];
  readonly rootId: string;
  readonly byId: ReadonlyMap<string, BudgetNode>;
  /** From the root down to the budget itself. */
  readonly pathOf: ReadonlyMap<string, readonly BudgetNode[]>;
  readonly childrenOf: ReadonlyMap<string, readonly BudgetNode[]>;
}

export interface TreeProblem {
  readonly budget: string;
  readonly message: string;
}

const byName = (a: BudgetNode, b: BudgetNode): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** The tree, or everything that is wrong with it. */
export function budgetTree(
  nodes: readonly BudgetNode[],
): { readonly tree: BudgetTree } | { readonly problems: readonly TreeProblem[] } {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const problems = [
    ...rootProblems(nodes),
    ...nodes.flatMap((node) => nodeProblems(node, byId)),
    ...siblingProblems(nodes),
  ];
  const root = nodes.find(({ parentId }) => parentId === null);
  if (problems.length > 0 || root === undefined) return { problems };
  const childrenOf = childrenByParent(nodes);
  const ordered: BudgetNode[] = [];
  const pathOf = new Map<string, readonly BudgetNode[]>();
  const visit = (node: BudgetNode, above: readonly BudgetNode[]): void => {
    const path = [...above, node];
    ordered.push(node);
    pathOf.set(node.id, path);
    for (const child of childrenOf.get(node.id) ?? []) visit(child, path);
  };
  visit(root, []);
  return { tree: { nodes: ordered, rootId: root.id, byId, pathOf, childrenOf } };
}

export const isLeaf = (tree: BudgetTree, id: string): boolean => (tree.childrenOf.get(id)?.length ?? 0) === 0;

export const leavesOf = (tree: BudgetTree): readonly BudgetNode[] => tree.nodes.filter(({ id }) => isLeaf(tree, id));

const NOWHERE: readonly BudgetNode[] = [];

/** From the root down to the budget itself; empty for one that the tree does not have. */
export const pathTo = (tree: BudgetTree, id: string): readonly BudgetNode[] => tree.pathOf.get(id) ?? NOWHERE;

/** `research/nlp`: the names from below the root; the root is called by its own. */
export const pathText = (tree: BudgetTree, id: string): string => {
  const path = pathTo(tree, id);
  return (path.length > 1 ? path.slice(1) : path).map(({ name }) => name).join('/');
};

function childrenByParent(nodes: readonly BudgetNode[]): ReadonlyMap<string, readonly BudgetNode[]> {
  const children = new Map<string, BudgetNode[]>();
  for (const node of nodes.toSorted(byName)) {
    if (node.parentId === null) continue;
    const siblings = children.get(node.parentId);
    if (siblings === undefined) children.set(node.parentId, [node]);
    else siblings.push(node);
  }
  return children;
}

function rootProblems(nodes: readonly BudgetNode[]): readonly TreeProblem[] {
  const roots = nodes.filter(({ parentId }) => parentId === null);
  if (roots.length === 1) return [];
  const names = roots.map(({ name }) => name).join(', ');
  return [
    {
      budget: names,
      message: roots.length === 0 ? 'no budget is the root' : `several budgets have no parent: ${names}`,
    },
  ];
}

function nodeProblems(node: BudgetNode, byId: ReadonlyMap<string, BudgetNode>): readonly TreeProblem[] {
  const problem = (message: string): TreeProblem => ({ budget: node.name, message });
  const problems: TreeProblem[] = [];
  if (!Number.isSafeInteger(node.weight) || node.weight < 0) {
    problems.push(problem(`the weight of ${node.name} is ${node.weight}: a whole number, 0 or more`));
  }
  if (node.parentId === null) return problems;
  const parent = byId.get(node.parentId);
  if (parent === undefined)
    return [...problems, problem(`the parent of ${node.name}, ${node.parentId}, does not exist`)];
  if (node.domainId === null) problems.push(problem(`${node.name} is of no domain: only the root may be`));
  else if (parent.parentId !== null && parent.domainId !== node.domainId)
    problems.push(problem(`${node.name} is of another domain than its parent ${parent.name}`));
  const seen = new Set([node.id]);
  for (let above: BudgetNode | undefined = parent; above !== undefined; above = byId.get(above.parentId ?? '')) {
    if (above.id === node.id) return [...problems, problem(`${node.name} is below itself, by way of ${parent.name}`)];
    if (seen.has(above.id)) break;
    seen.add(above.id);
  }
  return problems;
}

function siblingProblems(nodes: readonly BudgetNode[]): readonly TreeProblem[] {
  const seen = new Set<string>();
  const problems: TreeProblem[] = [];
  for (const { id, name, parentId } of nodes) {
    const key = `${parentId ?? ''}/${name}`;
    if (seen.has(key)) problems.push({ budget: name, message: `two budgets under one parent are called ${name}` });
    if (seen.has(id)) problems.push({ budget: name, message: `two budgets have the id ${id}` });
    seen.add(key).add(id);
  }
  return problems;
}
