const SLACK_MS = 5_000;

/** Between two measurements of a node that sends one each `everyMs`: longer is a gap, over which nothing is concluded. */
export const gapLimitMs = (everyMs: number): number => 3 * everyMs + SLACK_MS;

/** Rates are over so long, or over what there is of it since the last gap. */
export const RATE_MS = 300_000;

/** A gateway reports each 10 s; one that did not for so long left a gap. */
export const GATEWAY_GAP_MS = 60_000;
