/** Longer than a heartbeat that was held up needs to come back as a cancellation. */
const CONFIRM_MS_MAX = 15_000;
const ANSWER_MS_MAX = 5_000;

export interface BeatContactHands {
  readonly reachesTemporal: () => Promise<void>;
  readonly contactMade: () => void;
}

/**
 * Makes contact of beats. A beat is sent and forgotten, so Temporal is asked beside it. One answer is not enough: after an
 * outage the node may be lost, and this presence over, before its cancellation arrives. So contact is made once every answer
 * came in time for a while, and the presence still goes on.
 */
export function createBeatContact(hands: BeatContactHands, limitMs: number): (isOver: () => boolean) => Promise<void> {
  const confirmMs = Math.min(CONFIRM_MS_MAX, limitMs);
  let answeredSince: number | undefined;
  let isAsking = false;
  return async (isOver) => {
    if (isAsking) return;
    isAsking = true;
    const askedAt = performance.now();
    const isAnswered = await hands.reachesTemporal().then(
      () => performance.now() - askedAt <= ANSWER_MS_MAX,
      () => false,
    );
    isAsking = false;
    answeredSince = isAnswered ? (answeredSince ?? askedAt) : undefined;
    if (answeredSince !== undefined && askedAt - answeredSince >= confirmMs && !isOver()) hands.contactMade();
  };
}
