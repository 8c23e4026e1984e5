import type { SnapshotRunning } from '../contract/snapshot.js';
import { listText } from './amount-text.js';
import { timestampOf } from './moments.js';
import type { Candidate, Requester, VictimRule } from './victims.js';

const SHOWN = 5;

/** What a session that is stopped is told: for whom, by which rule, and that its minimum was kept. */
export function stopText({ id, name, priority }: Requester, victim: Candidate, rule: VictimRule): string {
  const { minRuntimeSeconds } = victim.session;
  const kept =
    minRuntimeSeconds === 0
      ? 'it has no minimum runtime'
      : `its minimum runtime of ${minRuntimeSeconds} s ended at ${timestampOf(victim.fromMs ?? 0)}`;
  return `makes room for ${name} (${id}, ${rule.standing ?? `priority ${priority}`}): ${rule.because(victim)}; ${kept}`;
}

const named = (sessions: readonly SnapshotRunning[]): string => {
  const shown = sessions.slice(0, SHOWN).map(({ name }) => name);
  const more = sessions.length - shown.length;
  return listText(more > 0 ? [...shown, `${more} more`] : shown);
};

interface Held {
  readonly stopped: readonly Candidate[];
  readonly awaited: readonly SnapshotRunning[];
  readonly at: string;
}

/** What the one for whom they are stopped is told. */
export function holdText({ stopped, awaited, at }: Held): string {
  const gpus = stopped.reduce((sum, { gpuCount }) => sum + gpuCount, 0);
  const stops =
    stopped.length === 0
      ? []
      : [
          `${stopped.length} ${stopped.length === 1 ? 'session' : 'sessions'} with ${gpus} GPU told to end for it: ${named(stopped.map((each) => each.session))}`,
        ];
  const waits = awaited.length === 0 ? [] : [`ending already: ${named(awaited)}`];
  return `${[...stops, ...waits].join('; ')}; the room is held, and free by ${at} at the latest`;
}
