import { type Dispatcher, request } from 'undici';
import { ArtifactFailure } from './artifact-failure.js';

const REDIRECTS_MAX = 5;
const REDIRECT = new Set([301, 302, 303, 307, 308]);
/** Nothing for so long: the connection is dead. */
const SILENCE_MS = 30_000;

export type ArtifactAnswer = Dispatcher.ResponseData;

/**
 * A GET that follows redirects; headers are not shown to another host. Throws `ArtifactFailure` for an answer of 4xx but 416,
 * 408, 425 and 429 (another request is needed); 5xx and no answer are the node's, and may go by.
 */
export async function httpGet(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ArtifactAnswer> {
  let at = new URL(url);
  let shownHeaders = headers;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops += 1) {
    const answer = await request(at, {
      signal,
      headers: shownHeaders,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new ArtifactFailure(`${at.host} does not answer`, 'node', error);
    });
    const { location } = answer.headers;
    if (!REDIRECT.has(answer.statusCode) || typeof location !== 'string') return refuseBad(answer, at);
    await answer.body.dump();
    const next = new URL(location, at);
    if (next.host !== at.host) shownHeaders = rangeOnly(shownHeaders);
    at = next;
  }
  throw new ArtifactFailure(`${at.host} redirects without end`, 'claim');
}

const rangeOnly = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name === 'range' || name === 'if-range'));

const PASSING = new Set([408, 425, 429]);

async function refuseBad(answer: ArtifactAnswer, at: URL): Promise<ArtifactAnswer> {
  const { statusCode } = answer;
  if (statusCode < 300 || statusCode === 416) return answer;
  await answer.body.dump();
  const whose = statusCode >= 500 || PASSING.has(statusCode) ? 'node' : 'claim';
  throw new ArtifactFailure(`${at.host}${at.pathname}: ${statusCode}`, whose);
}

export async function httpText(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  const answer = await httpGet(url, headers, signal);
  return answer.body.text().catch((error: unknown) => {
    signal.throwIfAborted();
    throw new ArtifactFailure(`${new URL(url).host} broke off`, 'node', error);
  });
}
