import type { SessionId } from '../../src/contract/index.js';
import { admit } from './admission.js';
import type { ControlActivities } from './control-activities.js';
import type { ControlDependencies } from './dependencies.js';
import { deliver, kickGroup } from './kick.js';
import { kickPoolOf } from './members.js';
import { createModelActivities } from './models.js';
import { planGroup } from './planning.js';

/** The activities of the control plane. Each is a short transaction (or a pass), and each may run twice. */
export function createControlActivities(dependencies: ControlDependencies): ControlActivities {
  const { sessions, nodes } = dependencies.store;
  return {
    ...createModelActivities(dependencies),
    admit: (sessionId) => admit(dependencies, sessionId),
    begin: (sessionId, attempt) => sessions.begin(sessionId as SessionId, attempt),
    async openPlacement(sessionId) {
      const open = await sessions.openPlacement(sessionId as SessionId);
      return open === null ? null : { placement: open.placement, started: open.started };
    },
    async markRunning(sessionId, attempt) {
      const { outcome } = await sessions.markRunning(sessionId as SessionId, attempt);
      await kickPoolOf(dependencies, sessionId);
      return outcome;
    },
    beginNotice: (sessionId, attempt) => sessions.beginNotice(sessionId as SessionId, attempt),
    async markEnding({ sessionId, attempt, cause, message, node }) {
      const stop = { sessionId: sessionId as SessionId, cause, message, actor: 'session workflow', graceMs: null };
      // Never placed: the row is PENDING, and its end is a cancellation.
      if (attempt === 0) await sessions.requestStop({ ...stop, force: false });
      else await sessions.markEnding({ ...stop, force: false, attempt, node });
    },
    async finish(sessionId, attempt, nodeReleased) {
      const finished = await sessions.finish(sessionId as SessionId, attempt, nodeReleased);
      // After the release is committed: a pass that starts now sees it, whoever asks for the pass.
      await kickGroup(dependencies, finished.group, true);
      for (const group of finished.dependents) await kickGroup(dependencies, group, true);
      await kickPoolOf(dependencies, sessionId);
      return finished;
    },
    plan: (group) => planGroup(dependencies, group),
    nodeSilent: (node, limitMs) => nodes.silent(node, limitMs),
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
