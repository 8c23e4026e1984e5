import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import type { AgentClaims } from '../contract/index.js';
import type { TokenSigner } from '../platform/tokens.js';
import { ProblemError, problem } from './problem.js';

const TOKEN_SECONDS = 60;
const CONNECT_MS = 5_000;
/** An agent answers the head of a stream at once; its frames may take as long as they like. */
const HEAD_MS = 30_000;

export interface KernelPlace {
  readonly node: string;
  readonly agentUrl: string;
  readonly kernelId: AgentClaims['kernelId'];
  readonly attempt: number;
}

/** The agents' ports: streams of frames, asked for with a token of one minute for that node, kernel and operation. */
export interface AgentPort {
  logs(place: KernelPlace, query: URLSearchParams, signal: AbortSignal): Promise<Readable>;
  exec(place: KernelPlace, body: unknown, signal: AbortSignal): Promise<Readable>;
  close(): Promise<void>;
}

const away = (node: string, cause: unknown): ProblemError =>
  new ProblemError(
    { code: 'unavailable', detail: `the agent of node ${node} does not answer`, hint: `berth get node ${node}` },
    { cause },
  );

async function refused(node: string, status: number, body: Readable & { text(): Promise<string> }): Promise<never> {
  const said = (await body.text().catch(() => '')).slice(0, 2_000);
  if (status === 404) throw problem('not_found', 'the node keeps nothing of this kernel any more');
  if (status === 409) throw problem('conflict', 'the container does not run');
  throw new ProblemError(
    { code: 'upstream_failed', detail: `the agent of node ${node} answered ${status}` },
    { cause: new Error(said) },
  );
}

export function createAgentPort(signer: TokenSigner): AgentPort {
  const dispatcher = new Agent({ connect: { timeout: CONNECT_MS }, headersTimeout: HEAD_MS, bodyTimeout: 0 });

  const ask = async (place: KernelPlace, operation: AgentClaims['operation'], options: AskOptions) => {
    const { node, kernelId, attempt } = place;
    const token = await signer.sign({
      audience: `node/${node}`,
      seconds: TOKEN_SECONDS,
      claims: { kernelId, attempt, operation },
    });
    const url = new URL(`/v1/kernels/${kernelId}/${attempt}/${operation}`, place.agentUrl);
    for (const [name, value] of options.query ?? []) url.searchParams.set(name, value);
    const headers = { authorization: `Bearer ${token}`, ...(options.body === undefined ? {} : JSON_TYPE) };
    const { signal, body = null } = options;
    const method = operation === 'exec' ? 'POST' : 'GET';
    const answer = await request(url, { method, headers, body, signal, dispatcher }).catch((error: unknown) => {
      throw away(node, error);
    });
    return answer.statusCode === 200 ? answer.body : refused(node, answer.statusCode, answer.body);
  };

  return {
    logs: (place, query, signal) => ask(place, 'logs', { query, signal }),
    exec: (place, body, signal) => ask(place, 'exec', { body: JSON.stringify(body), signal }),
    close: () => dispatcher.destroy(),
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };
interface AskOptions {
  readonly query?: URLSearchParams;
  readonly body?: string;
  readonly signal: AbortSignal;
}
