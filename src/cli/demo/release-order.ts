import type { SessionEvent } from '../../contract/index.js';

/** What must come in this order when a start fails: as found in two sessions' histories. */
export interface ReleaseStep {
  readonly what: string;
  readonly at: string;
}

const stateEvent = (events: readonly SessionEvent[], to: string): SessionEvent | undefined =>
  events.find((event) => event.kind === 'state' && event.to === to);

/**
 * The start fails, its node lets go, the ledger lets go, the next one is placed. The end's event is written in the
 * ledger's own release, and says that the node had released before. Throws with what is missing or out of order.
 */
export function releaseOrder(failed: readonly SessionEvent[], next: readonly SessionEvent[]): readonly ReleaseStep[] {
  const failure = stateEvent(failed, 'TERMINATING');
  const end = stateEvent(failed, 'ERROR');
  const placed = stateEvent(next, 'SCHEDULED');
  if (failure === undefined) throw new Error('expected: a start that fails; seen: no TERMINATING in its history');
  if (end === undefined) throw new Error('expected: ERROR at the end of its history; seen: none');
  if (placed === undefined) throw new Error('expected: the next one placed; seen: no SCHEDULED in its history');
  if (end.data['nodeReleased'] !== true) {
    throw new Error('expected: the node released before the ledger; seen: an end that does not say so');
  }
  const steps = [
    {
      what: `the start failed: ${failure.cause}; its node removes the container and frees its devices`,
      at: failure.at,
    },
    { what: 'the node had released; the ledger released: ERROR', at: end.at },
    { what: 'the next one was placed', at: placed.at },
  ];
  steps.reduce((before, step) => {
    if (Date.parse(step.at) < Date.parse(before.at)) {
      throw new Error(`expected: ${before.what}, then ${step.what}; seen: the other way round`);
    }
    return step;
  });
  return steps;
}
