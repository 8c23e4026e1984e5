import type { Runner } from '../database.js';
import type { DeploymentProblem, DeploymentStore } from '../deployment-store.js';
import { modelNameIsTaken } from '../model-names.js';
import { projectId } from '../models/sql-words.js';
import { sql } from '../sql.js';

export type Wish = Parameters<DeploymentStore['apply']>[1];
export type By = Parameters<DeploymentStore['apply']>[2];

/** The open deployment of the name, as it is under its lock. */
export interface Known {
  readonly id: string;
  readonly project: string;
  readonly group: string;
  readonly isEnding: boolean;
}

export const refused = (field: string, message: string): DeploymentProblem => ({ problem: 'refused', field, message });

function checkKnown(known: Known, wish: Wish): DeploymentProblem | null {
  if (known.project !== wish.project) return refused('name', 'a deployment of another project has that name');
  if (known.isEnding) return { problem: 'ending' };
  if (known.group !== wish.group) return refused('group', `it is in ${known.group}, and that never changes`);
  return null;
}

/** Replicas are sessions of whoever makes it: one outside the project is refused each of them. */
async function checkNew(tx: Runner, wish: Wish, by: By): Promise<DeploymentProblem | null> {
  const found = await tx.first<{ group: boolean; project: string | null; member: boolean }>(sql`
    SELECT EXISTS (SELECT 1 FROM resource_groups WHERE name = ${wish.group}) AS group, p.id AS project,
      EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = ${by.userId} AND m.project_id = p.id) AS member
    FROM (SELECT ${projectId(wish.project)} AS id) p`);
  if (found?.group !== true) return refused('group', `there is no resource group ${wish.group}`);
  if (found.project === null) return refused('project', `there is no project ${wish.project}`);
  if (!found.member)
    return refused('project', `you are not a member of ${wish.project}: its replicas would be your sessions`);
  return null;
}

/** Null: it may be made, or changed. */
export async function checkApply(
  tx: Runner,
  known: Known | undefined,
  { wish, by }: { readonly wish: Wish; readonly by: By },
): Promise<DeploymentProblem | null> {
  const problem = known === undefined ? await checkNew(tx, wish, by) : checkKnown(known, wish);
  if (problem !== null || wish.modelName === null) return problem;
  const isTaken = await modelNameIsTaken(tx, wish.modelName, { deploymentId: known?.id ?? null });
  return isTaken ? refused('modelName', `${wish.modelName} is the name of another model (name-taken)`) : null;
}
