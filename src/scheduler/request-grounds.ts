import type { GroupPolicy } from '../contract/group-policy.js';
import type { SessionKind } from '../contract/session-kinds.js';

/** What a request wants of its group beyond room. */
export interface RequestWants {
  readonly kind: SessionKind;
  readonly minRuntimeSeconds: number;
  /** undefined: the group's largest, if it has one. */
  readonly maxRuntimeSeconds?: number | undefined;
  /** Nodes that it must have one of; empty where it only prefers some. */
  readonly requiredNodes: readonly string[];
}

export interface GroupFacts {
  readonly group: { readonly name?: string; readonly policy?: GroupPolicy; readonly waiting?: number } | null;
  readonly nodes: readonly { readonly name: string }[];
  readonly dependencies?: readonly { readonly asked: string; readonly found: object | null }[] | undefined;
}

interface Ground {
  readonly pointer: string;
  readonly message: string;
}

/** Sessions that it depends on and cannot see. */
export const dependencyGrounds = ({ dependencies = [] }: GroupFacts): Ground[] =>
  dependencies.flatMap(({ asked, found }, index) =>
    found === null ? [{ pointer: `/dependsOn/${index}/session`, message: `you can see no session ${asked}` }] : [],
  );

/** Nodes that it must have and that the group does not have: it is refused, since the wish may be a slip of the pen. */
export function nodeGrounds({ group, nodes }: GroupFacts, { requiredNodes }: RequestWants): Ground[] {
  if (group === null) return [];
  const known = new Set(nodes.map(({ name }) => name));
  return requiredNodes.flatMap((node, index) =>
    known.has(node) ? [] : [{ pointer: `/placement/nodes/${index}`, message: `the group has no node ${node}` }],
  );
}

/** The largest maximum runtime of the group for this kind: it binds the minimum runtime too. */
export function runtimeGrounds({ group }: GroupFacts, wants: RequestWants): Ground[] {
  const limit = group?.policy?.maxRuntimeSeconds[wants.kind];
  if (limit === undefined) return [];
  const over = (pointer: string, asked: number): Ground => ({
    pointer,
    message: `asks for ${asked} s; the group lets ${wants.kind} sessions run for at most ${limit} s`,
  });
  const { minRuntimeSeconds, maxRuntimeSeconds = 0 } = wants;
  return [
    ...(maxRuntimeSeconds > limit ? [over('/maxRuntimeSeconds', maxRuntimeSeconds)] : []),
    ...(minRuntimeSeconds > limit ? [over('/minRuntimeSeconds', minRuntimeSeconds)] : []),
  ];
}

/** The group takes no more who wait. */
export function crowdedGrounds({ group }: GroupFacts): Ground[] {
  const limit = group?.policy?.maxPendingSessions ?? null;
  const waiting = group?.waiting ?? 0;
  if (limit === null || waiting < limit) return [];
  return [{ pointer: '/group', message: `${waiting} sessions wait in the group already, of at most ${limit}` }];
}
