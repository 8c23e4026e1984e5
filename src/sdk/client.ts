import type { CallOptions } from './operations.js';
import { appsOf } from './resources/apps.js';
import { budgetsOf } from './resources/budgets.js';
import { deploymentsOf } from './resources/deployments.js';
import { foldersOf } from './resources/folders.js';
import { modelsOf } from './resources/models.js';
import { nodesOf } from './resources/nodes.js';
import { poolsOf } from './resources/pools.js';
import { reportsOf } from './resources/reports.js';
import { groupsOf, queueOf, quotasOf } from './resources/scheduling.js';
import { sessionsOf } from './resources/sessions.js';
import { auditOf, domainsOf, keysOf, projectsOf, usersOf } from './resources/tenancy.js';
import { usageOf } from './resources/usage.js';
import { Transport, type TransportOptions } from './transport.js';

export type ClientOptions = TransportOptions;

/**
 * Berth's API. Every method takes an `AbortSignal`, sends one Idempotency-Key for all its tries, and throws a
 * `ProblemError` (a class for each code) or a `ConnectionError`. Fields that this version does not know are kept.
 */
export class Client {
  readonly sessions: ReturnType<typeof sessionsOf>;
  readonly groups: ReturnType<typeof groupsOf>;
  readonly queue: ReturnType<typeof queueOf>;
  readonly nodes: ReturnType<typeof nodesOf>;
  readonly quotas: ReturnType<typeof quotasOf>;
  readonly budgets: ReturnType<typeof budgetsOf>;
  readonly folders: ReturnType<typeof foldersOf>;
  readonly apps: ReturnType<typeof appsOf>;
  readonly pools: ReturnType<typeof poolsOf>;
  readonly models: ReturnType<typeof modelsOf>;
  readonly deployments: ReturnType<typeof deploymentsOf>;
  readonly usage: ReturnType<typeof usageOf>;
  readonly keys: ReturnType<typeof keysOf>;
  readonly users: ReturnType<typeof usersOf>;
  readonly projects: ReturnType<typeof projectsOf>;
  readonly domains: ReturnType<typeof domainsOf>;
  readonly audit: ReturnType<typeof auditOf>;
  readonly reports: ReturnType<typeof reportsOf>;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.#transport = transport;
    this.sessions = sessionsOf(transport);
    this.groups = groupsOf(transport);
    this.queue = queueOf(transport);
    this.nodes = nodesOf(transport);
    this.quotas = quotasOf(transport);
    this.budgets = budgetsOf(transport);
    this.folders = foldersOf(transport);
    this.apps = appsOf(transport);
    this.pools = poolsOf(transport);
    this.models = modelsOf(transport);
    this.deployments = deploymentsOf(transport);
    this.usage = usageOf(transport);
    this.keys = keysOf(transport);
    this.users = usersOf(transport);
    this.projects = projectsOf(transport);
    this.domains = domainsOf(transport);
    this.audit = auditOf(transport);
    this.reports = reportsOf(transport);
  }

  /** Who this key is. */
  me(options?: CallOptions) {
    return this.#transport.call('whoAmI', {}, options);
  }

  /** Parts of Berth, and whether they are reachable. */
  health(options?: CallOptions) {
    return this.#transport.call('health', {}, options);
  }
}
