import { setTimeout as pause } from 'node:timers/promises';
import { type ChatAnswer, chat, type ModelsBerth } from './models-berth.js';

/** So long a client of one burst follows what it is told before it gives up. */
const PATIENCE_SECONDS = 90;
/** A client of a compressed hour waits so much less than it is told. */
const ASK_EVERY_MAX_SECONDS = 1;

export interface BurstCounts {
  bursts: number;
  requests: number;
  served: number;
  /** Bursts whose first answer was no 200: the model had to be woken, placed or moved. */
  wakes: number;
  /** Bursts that were never served; the last answer says why. */
  readonly explained: Map<string, number>;
  /** No answer, or one without a reason: `fetch failed`, 500 … */
  readonly unexplained: string[];
  /** An engine was killed under the request: 502 with a body. */
  broken: number;
  readonly wakeMs: number[];
}

export const newCounts = (): BurstCounts => ({
  ...{ bursts: 0, requests: 0, served: 0, wakes: 0, broken: 0 },
  ...{ explained: new Map<string, number>(), unexplained: [], wakeMs: [] },
});

interface Burst {
  readonly berth: ModelsBerth;
  readonly counts: BurstCounts;
  readonly model: string;
  /** Requests at once. */
  readonly depth: number;
  readonly seconds: number;
  /** Of the hour in what is measured: what a client is told to wait is divided by it. */
  readonly timeScale: number;
}

/** One client comes, follows 503 until it is served, and then so many requests are in flight until its time is over. */
export async function burst(given: Burst): Promise<void> {
  const { counts, depth, seconds } = given;
  counts.bursts += 1;
  if (!(await untilServed(given))) return;
  const until = performance.now() + seconds * 1000;
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      const answer = await request(given, 8);
      if (answer?.status !== 200) await pause(200);
    }
  };
  await Promise.all(Array.from({ length: depth }, client));
}

/** False when it was not: why is counted. */
export async function untilServed(given: Burst): Promise<boolean> {
  const { counts, model, timeScale } = given;
  const begunMs = performance.now();
  let tries = 0;
  let last: ChatAnswer | undefined;
  while (performance.now() - begunMs < PATIENCE_SECONDS * 1000) {
    const answer = await request(given, 1);
    if (answer?.status === 200) {
      if (tries > 0) counts.wakeMs.push(performance.now() - begunMs);
      return true;
    }
    if (tries === 0) counts.wakes += 1;
    tries += 1;
    last = answer ?? last;
    if (answer?.mayRetry === false) break;
    await pause(1000 * Math.min(ASK_EVERY_MAX_SECONDS, (answer?.retryAfterSeconds ?? 1) / timeScale));
  }
  const why = last?.reason ?? null;
  if (why === null) counts.unexplained.push(`${model}: not served in ${PATIENCE_SECONDS} s, and nobody says why`);
  else counts.explained.set(why, (counts.explained.get(why) ?? 0) + 1);
  return false;
}

async function request({ berth, counts, model }: Burst, tokens: number): Promise<ChatAnswer | undefined> {
  counts.requests += 1;
  try {
    const answer = await chat(berth, model, tokens);
    if (answer.status === 200) counts.served += 1;
    else if (answer.status === 502 && answer.reason !== null) counts.broken += 1;
    else if (answer.status !== 503 || answer.reason === null)
      counts.unexplained.push(`${model}: ${answer.status} ${answer.reason}`);
    return answer;
  } catch (error) {
    counts.unexplained.push(`${model}: ${(error as Error).message}`);
    return undefined;
  }
}
