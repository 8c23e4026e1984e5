import type { SessionId } from '../../src/contract/index.js';
import { admit } from './admission.js';
import type { ControlActivities } from './control-activities.js';
import type { ControlDependencies } from './dependencies.js';
import { kickDeploymentOf, kickDeployments } from './deployment-work.js';
import { createDeploymentActivities } from './deployments.js';
import { deliver, kickGroup } from './kick.js';
import { kickPoolOf } from './members.js';
import { createModelActivities } from './models.js';
import { planGroup } from './planning.js';

/** The activities of the control plane. Each is a short transaction (or a pass), and each may run twice. */
export function createControlActivities(dependencies: ControlDependencies): ControlActivities {
  const { sessions, nodes, deployments } = dependencies.store;
  return {
    ...createModelActivities(dependencies),
    ...createDeploymentActivities(dependencies),
    admit: (sessionId) => admit(dependencies, sessionId),
    begin: (sessionId, attempt) => sessions.begin(sessionId as SessionId, attempt),
    async openPlacement(sessionId) {
      const open = await sessions.openPlacement(sessionId as SessionId);
      return open === null ? null : { placement: open.placement, started: open.started };
    },
    async markRunning(sessionId, attempt) {
      const { outcome } = await sessions.markRunning(sessionId as SessionId, attempt);
      await kickPoolOf(dependencies, sessionId);
      await kickDeploymentOf(dependencies, sessionId);
      return outcome;
    },
    async beginNotice(sessionId, attempt) {
      const noticed = await sessions.beginNotice(sessionId as SessionId, attempt);
      await kickDeploymentOf(dependencies, sessionId);
      return noticed;
    },
    async markEnding({ sessionId, attempt, cause, message, node }) {
      const stop = { sessionId: sessionId as SessionId, cause, message, actor: 'session workflow', graceMs: null };
      // Never placed: the row is PENDING, and its end is a cancellation.
      if (attempt === 0) await sessions.requestStop({ ...stop, force: false });
      else await sessions.markEnding({ ...stop, force: false, attempt, node });
      await kickDeploymentOf(dependencies, sessionId);
    },
    async finish(sessionId, attempt, nodeReleased) {
      const finished = await sessions.finish(sessionId as SessionId, attempt, nodeReleased);
      // After the release is committed: a pass that starts now sees it, whoever asks for the pass.
      await kickGroup(dependencies, finished.group, true);
      for (const group of finished.dependents) await kickGroup(dependencies, group, true);
      await kickPoolOf(dependencies, sessionId);
      await kickDeploymentOf(dependencies, sessionId);
      return finished;
    },
    plan: (group) => planGroup(dependencies, group),
    async nodeSilent(node, limitMs) {
      const silence = await nodes.silent(node, limitMs);
      // Run again it says `lost` again, and kicks again.
      if (silence.verdict === 'lost') await kickDeployments(dependencies, await deployments.deploymentsOn(node));
      return silence;
    },
    async nodeGone(node) {
      const found = await nodes.get(node);
      return found === null || found.state === 'LOST';
    },
    async failLost(node) {
      const signals = await nodes.failLost(node);
      return (await deliver(dependencies, signals)).delivered;
    },
  };
}
