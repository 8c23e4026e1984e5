import type { SessionId } from '../../src/contract/index.js';
import type { MemberWork } from '../../src/store/model-store.js';
import { startSubmission } from '../../src/submit/start-submission.js';
import type { ControlDependencies } from './dependencies.js';
import { deliver } from './kick.js';
import { memberSession } from './member-session.js';
import { kickPool } from './signal-models.js';

/** So many submissions wait for their admission at once. */
const SLICE = 10;
/** The rest is done in the next call: an activity has 10 s. */
const ENOUGH_MS = 4_000;
const ADMISSION_WAIT_MS = 3_000;

/**
 * Submits the sessions that a pool lacks, as the API submits one, and stops those of drained members. Their ids stand in the
 * ledger before: run again it goes on with those that are not known yet, and a second submission under an id is the first.
 */
export async function memberWork(dependencies: ControlDependencies, pool: string): Promise<{ more: boolean }> {
  const { submit, stop, from } = await dependencies.store.models.memberWork(pool);
  const until = performance.now() + ENOUGH_MS;
  const work = [
    ...stop.map((sessionId) => () => stopMember(dependencies, pool, sessionId as SessionId)),
    ...(from === null ? [] : submit.map((member) => () => submitMember(dependencies, from, member))),
  ];
  let at = 0;
  for (; at < work.length && performance.now() < until; at += SLICE)
    await Promise.all(work.slice(at, at + SLICE).map((act) => act()));
  return { more: at < work.length };
}

/** A refusal stands at the submission, where the ledger finds it and says it as what the pool waits for. */
async function submitMember(
  dependencies: ControlDependencies,
  { owner, pool }: NonNullable<MemberWork['from']>,
  member: MemberWork['submit'][number],
): Promise<void> {
  const { outcome } = await startSubmission(
    dependencies,
    {
      sessionId: member.sessionId as SessionId,
      principal: owner,
      spec: memberSession(pool, member),
      sealedSecrets: null,
      submittedAt: new Date().toISOString(),
    },
    ADMISSION_WAIT_MS,
  );
  dependencies.count('pool_members_submitted', outcome === 'refused' ? 0 : 1);
}

async function stopMember(dependencies: ControlDependencies, pool: string, sessionId: SessionId): Promise<void> {
  const { sessions } = dependencies.store;
  const actor = `pool ${pool}`;
  const message = `the pool ${pool} needs this member no longer`;
  const asked = { sessionId, cause: 'operator-stop', actor, message, graceMs: null, force: false } as const;
  const stopped = await sessions.requestStop(asked);
  if (stopped === null) return; // not admitted yet: asked again in a later turn
  await deliver(dependencies, [{ sessionId, kind: 'stop', attempt: stopped.attempt }]);
}

/** A member's session runs, or has ended: its pool's planner looks at once. */
export async function kickPoolOf(dependencies: ControlDependencies, sessionId: string): Promise<void> {
  const pool = await dependencies.store.models.poolOfMember(sessionId);
  if (pool !== null) await kickPool(dependencies, pool);
}
