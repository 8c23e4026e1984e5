import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ZodType } from 'zod';
import {
  type EngineOrder,
  engineOrderSchema,
  type LaunchOrder,
  launchOrderSchema,
  type MemberLook,
  memberLooksSchema,
  type NodeHealthReport,
  type NodeReport,
  type NodeUsage,
  nodeHealthReportSchema,
  nodeReportsSchema,
  nodeUsageSchema,
  type Reconcile,
  type Reconciled,
  type ReplicaMetrics,
  reconcileSchema,
  registerNodeSchema,
  replicaMetricsSchema,
} from '../../../src/contract/index.js';

/** A small real HTTP server that speaks the agent's protocol, records what it is told, and fails when told to. */
export interface ApiStandIn {
  readonly url: string;
  readonly token: string;
  readonly reports: NodeReport[];
  readonly reconciles: Reconcile[];
  readonly registrations: unknown[];
  readonly healths: NodeHealthReport[];
  readonly usages: NodeUsage[];
  readonly figures: ReplicaMetrics[];
  /** Bodies that the contract refuses: a test that ends with one has found a bug. */
  readonly violations: string[];
  readonly orders: Map<string, LaunchOrder>;
  /** By instance; what is not here, the ledger does not know. */
  readonly engineOrders: Map<string, EngineOrder>;
  readonly looks: MemberLook[];
  /** How reports and reconciliations are answered now. */
  mode: 'ok' | 'bad-gateway' | 'hang';
  /** Called before a launch order is given out; the count of askings so far for that run. */
  onOrder: (order: LaunchOrder, asked: number) => LaunchOrder | undefined;
  answer: (inventory: Reconcile) => Reconciled;
  reportsOf<K extends NodeReport['kind']>(kind: K): Extract<NodeReport, { kind: K }>[];
  close(): Promise<void>;
}

export const nothingToDo: Reconciled = { epoch: 1_000, expected: [], remove: [], missing: [], state: 'READY' };

const SCHEMAS: Readonly<Record<string, ZodType>> = {
  '/register': registerNodeSchema,
  '/reconcile': reconcileSchema,
  '/reports': nodeReportsSchema,
  '/health': nodeHealthReportSchema,
  '/usage': nodeUsageSchema,
  '/replica-metrics': replicaMetricsSchema,
  '/member-looks': memberLooksSchema,
};

export async function startApiStandIn(node: string): Promise<ApiStandIn> {
  const asked = new Map<string, number>();
  const api: Omit<ApiStandIn, 'url'> = {
    token: 'a-node-token',
    reports: [],
    reconciles: [],
    registrations: [],
    healths: [],
    usages: [],
    figures: [],
    violations: [],
    orders: new Map(),
    engineOrders: new Map(),
    looks: [],
    mode: 'ok',
    onOrder: (order) => order,
    answer: () => nothingToDo,
    reportsOf: (kind) => api.reports.filter((report) => report.kind === kind) as never,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const send = (status: number, body: unknown) =>
      response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(body === undefined ? '' : JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${api.token}`) return void send(401, {});
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const path = (request.url ?? '').replace(`/v1/nodes/${node}`, '');
    const [, kernelId, attempt] = /^\/kernels\/([^/]+)\/(\d+)$/.exec(path) ?? [];
    if (kernelId !== undefined) {
      const key = `${kernelId}-${attempt}`;
      asked.set(key, (asked.get(key) ?? 0) + 1);
      const known = api.orders.get(key);
      const order = known && api.onOrder(known, asked.get(key) ?? 0);
      return void (order === undefined ? send(409, {}) : send(200, launchOrderSchema.parse(order)));
    }
    const [, instanceId] = /^\/engine-orders\/([^/]+)$/.exec(path) ?? [];
    if (instanceId !== undefined) {
      const order = api.engineOrders.get(instanceId);
      return void (order === undefined ? send(404, {}) : send(200, engineOrderSchema.parse(order)));
    }
    if (api.mode === 'hang') return;
    if (api.mode === 'bad-gateway') return void send(502, {});
    const body = JSON.parse(text) as unknown;
    const schema = SCHEMAS[path];
    const parsed = schema?.safeParse(body);
    if (!parsed?.success) {
      api.violations.push(`${path}: ${parsed?.error.message}`);
      return void send(400, {});
    }
    if (path === '/register') {
      api.registrations.push(parsed.data);
      return void response.writeHead(204).end();
    }
    if (path === '/health') {
      api.healths.push(parsed.data as NodeHealthReport);
      return void response.writeHead(204).end();
    }
    if (path === '/replica-metrics') {
      api.figures.push(parsed.data as ReplicaMetrics);
      return void response.writeHead(204).end();
    }
    if (path === '/usage') {
      api.usages.push(parsed.data as NodeUsage);
      return void send(200, { refused: [] });
    }
    if (path === '/member-looks') {
      const { looks } = parsed.data as { looks: MemberLook[] };
      api.looks.push(...looks);
      const seen = looks.flatMap(({ engines }) => engines.map((engine) => engine.instanceId));
      return void send(200, { remove: seen.filter((id) => !api.engineOrders.has(id)) });
    }
    if (path === '/reconcile') {
      const inventory = parsed.data as Reconcile;
      api.reconciles.push(inventory);
      return void send(200, api.answer(inventory));
    }
    const { reports } = parsed.data as { reports: NodeReport[] };
    api.reports.push(...reports);
    send(200, { results: reports.map(({ kernelId: id }) => ({ kernelId: id, accepted: true, detail: null })) });
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      api.violations.push(String(error));
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(api, { url: `http://127.0.0.1:${port}` });
}
