import type { DeploymentPlan } from './plan-deployment.js';
import { isSound, serves } from './replica.js';
import type { DeploymentSnapshot } from './turn-types.js';

/** Replicas that are told at most, so that a text stays one screen. */
const LINES_MAX = 20;

/** What Temporal's UI shows of a deployment: its counts, its rollout, what holds it back, and why somebody does not serve. */
export function turnDetails(snapshot: DeploymentSnapshot, { turn }: DeploymentPlan): string {
  const { name, replicas, nowMs } = snapshot;
  const live = replicas.filter(isSound).length;
  const serving = replicas.filter(serves).length;
  const failing = Object.entries(turn.failures).filter(([, { inARow }]) => inARow > 0);
  const idle = replicas
    .filter((one) => !serves(one))
    .map((one) => `- ${one.id} (${one.route}): ${one.message ?? one.health}`);
  const more = idle.length > LINES_MAX ? [`- and ${idle.length - LINES_MAX} more`] : [];
  return [
    `Deployment **${name}**${snapshot.isEnding ? ' ends' : ''}: wanted ${turn.wanted}, live ${live}, serving ${serving}`,
    turn.rollout === null ? null : `Rollout to revision ${turn.rollout.target}: ${turn.rolloutMessage}`,
    turn.verdict === null ? null : `Rollout: ${turn.verdict.because}`,
    ...failing.map(([revision, { inARow }]) => `Revision ${revision}: ${inARow} failures in a row`),
    turn.retryMs === null ? null : `The next replica in ${Math.max(0, Math.round((turn.retryMs - nowMs) / 1000))} s`,
    turn.decision === null ? null : `Count: ${turn.decision.because}`,
    idle.length === 0 ? null : `Do not serve:\n${[...idle.slice(0, LINES_MAX), ...more].join('\n')}`,
    `\`berth deploy why ${name}\``,
  ]
    .filter((part) => part !== null)
    .join('\n\n');
}
