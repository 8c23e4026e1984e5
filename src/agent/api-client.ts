import { Agent, request } from 'undici';
import {
  type EngineOrder,
  engineOrderSchema,
  type LaunchOrder,
  launchOrderSchema,
  type MemberLook,
  memberLooksAnswerSchema,
  type NodeHealthReport,
  type NodeReport,
  type NodeUsage,
  nodeReportsAnswerSchema,
  type Reconcile,
  type Reconciled,
  type RegisterNode,
  type ReplicaMetrics,
  reconciledSchema,
} from '../contract/index.js';
import type { KernelRun } from './kernel-container.js';
import { PlacementOver } from './start-failure.js';

/** What an agent asks of the API; every call is safe to send twice. Failures are `ApiFailure`. */
export interface AgentApi {
  register(node: RegisterNode, signal?: AbortSignal): Promise<void>;
  reconcile(inventory: Reconcile, signal?: AbortSignal): Promise<Reconciled>;
  /** Resolves once the API has taken each of them in, also those it does not accept. */
  report(reports: readonly NodeReport[], signal?: AbortSignal): Promise<readonly ReportResult[]>;
  reportHealth(report: NodeHealthReport, signal?: AbortSignal): Promise<void>;
  /** One batch of measurements; taken once. */
  reportUsage(usage: NodeUsage, signal?: AbortSignal): Promise<void>;
  /** Figures of replicas; newer ones take their place. */
  replicaMetrics(metrics: ReplicaMetrics, signal?: AbortSignal): Promise<void>;
  /** Throws `PlacementOver` when the kernel is no longer to run here. */
  launchOrder(run: KernelRun, signal?: AbortSignal): Promise<LaunchOrder>;
  /** Throws `PlacementOver` when the ledger has no such engine here (any more). */
  engineOrder(instanceId: string, signal?: AbortSignal): Promise<EngineOrder>;
  /** Answers which engines the ledger does not know. */
  memberLooks(looks: readonly MemberLook[], signal?: AbortSignal): Promise<readonly string[]>;
  /** Requests under way fail. */
  close(): Promise<void>;
}

export interface ReportResult {
  readonly kernelId: string;
  readonly accepted: boolean;
  readonly detail: string | null;
}

/** `status` is undefined when no answer came. The body of the answer is not kept: it may quote what was sent. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly status: number | undefined;
  constructor(attempted: string, status?: number, cause?: unknown) {
    super(status === undefined ? `${attempted}: no answer` : `${attempted}: ${status}`, { cause });
    this.status = status;
  }
  /** The request itself is at fault: the same one again gets the same answer. */
  get isRefusal(): boolean {
    return this.status !== undefined && [400, 404, 409, 410, 412, 413, 422].includes(this.status);
  }
}

export interface ApiClientOptions {
  readonly apiUrl: string;
  readonly node: string;
  readonly token: string;
  readonly timeoutMs?: number;
  /** Called at each call that the API accepts. */
  readonly onAccepted?: () => void;
}

/** The API said that a placement is not (or no longer) here: it ended, moved on to another attempt, or never was. */
const PLACEMENT_OVER: readonly (number | undefined)[] = [404, 409, 410, 412];

export function createApiClient(options: ApiClientOptions): AgentApi {
  const dispatcher = new Agent({ connect: { timeout: 5_000 }, pipelining: 1 });
  const base = `${options.apiUrl.replace(/\/$/, '')}/v1/nodes/${encodeURIComponent(options.node)}`;
  const call = caller(dispatcher, { ...options, base });
  return {
    register: async (node, signal) => {
      await call({ attempted: 'register', method: 'POST', path: '/register', body: node, signal });
    },
    reconcile: async (inventory, signal) => {
      const answer = await call({
        attempted: 'reconcile',
        method: 'POST',
        path: '/reconcile',
        body: inventory,
        signal,
      });
      return reconciledSchema.parse(answer);
    },
    report: async (reports, signal) => {
      const answer = await call({ attempted: 'report', method: 'POST', path: '/reports', body: { reports }, signal });
      return nodeReportsAnswerSchema.parse(answer).results;
    },
    reportHealth: async (report, signal) => {
      await call({ attempted: 'health', method: 'POST', path: '/health', body: report, signal });
    },
    reportUsage: async (usage, signal) => {
      await call({ attempted: 'usage', method: 'POST', path: '/usage', body: usage, signal });
    },
    replicaMetrics: async (metrics, signal) => {
      await call({ attempted: 'figures', method: 'POST', path: '/replica-metrics', body: metrics, signal });
    },
    launchOrder: async ({ kernelId, attempt }, signal) => {
      const path = `/kernels/${encodeURIComponent(kernelId)}/${attempt}`;
      const answer = call({ attempted: 'launch order', method: 'GET', path, signal });
      return launchOrderSchema.parse(await unlessOver(answer, `${kernelId} (attempt ${attempt})`));
    },
    engineOrder: async (instanceId, signal) => {
      const path = `/engine-orders/${encodeURIComponent(instanceId)}`;
      const answer = call({ attempted: 'engine order', method: 'GET', path, signal });
      return engineOrderSchema.parse(await unlessOver(answer, instanceId));
    },
    memberLooks: async (looks, signal) => {
      const answer = await call({ attempted: 'looks', method: 'POST', path: '/member-looks', body: { looks }, signal });
      return memberLooksAnswerSchema.parse(answer).remove;
    },
    close: () => dispatcher.destroy(),
  };
}

async function unlessOver(answer: Promise<unknown>, what: string): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApiFailure) || !PLACEMENT_OVER.includes(error.status)) throw error;
    throw new PlacementOver(`the placement of ${what} is over`, { cause: error });
  }
}

interface Call {
  readonly attempted: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly signal: AbortSignal | undefined;
}

interface Target extends ApiClientOptions {
  readonly base: string;
}

const TIMEOUT_MS_DEFAULT = 15_000;

function caller(dispatcher: Agent, { base, token, timeoutMs = TIMEOUT_MS_DEFAULT, onAccepted }: Target) {
  return async ({ attempted, method, path, body, signal }: Call): Promise<unknown> => {
    const answer = await request(`${base}${path}`, {
      dispatcher,
      method,
      ...(signal && { signal }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw new ApiFailure(attempted, undefined, error);
    });
    if (answer.statusCode >= 300) {
      await answer.body.dump();
      throw new ApiFailure(attempted, answer.statusCode);
    }
    onAccepted?.();
    try {
      const text = await answer.body.text();
      return text === '' ? undefined : (JSON.parse(text) as unknown);
    } catch (error) {
      throw new ApiFailure(attempted, undefined, error);
    }
  };
}
