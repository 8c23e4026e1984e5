import { randomBytes } from 'node:crypto';
import { vi } from 'vitest';
import type { EngineActivities } from '../../../activities/node/engine-activities.js';
import { createEngineActivities } from '../../../activities/node/engines.js';
import { ensureSimulatedEngineImage } from '../../../infra/images/simulated-engine.mjs';
import { createKeeperLink, type KeeperLink } from '../../../src/agent/engines/keeper-link.js';
import { containerName } from '../../../src/agent/kernel-container.js';
import { type EngineOrder, type LaunchOrder, type MemberLook, segmentName } from '../../../src/contract/index.js';
import type { AgentOptions, TestAgent, TestNode } from './agent-fixture.js';
import { orderedDevice } from './launch-order.js';

export const GIB = 2 ** 30;

/** A member of a pool on a test's node: its anchor runs, and engines can be ordered beside it. */
export interface TestMember {
  readonly anchor: LaunchOrder;
  readonly keeper: KeeperLink;
  agent: TestAgent;
  engines: EngineActivities;
  /** An order that the API gives out: F 4 GiB, limit 2 GiB, ready and asleep in tens of milliseconds. */
  readonly order: (changes?: Partial<EngineOrder>, simulated?: readonly string[]) => EngineOrder;
  /** Runs an activity as Temporal would. */
  readonly run: <Name extends keyof EngineActivities>(
    name: Name,
    input: Parameters<EngineActivities[Name]>[0],
  ) => Promise<Awaited<ReturnType<EngineActivities[Name]>>>;
  /** What the engine is told, or says, as one that drives the simulation sees it. */
  readonly tell: (port: number, knobs: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly lastLook: (instanceId: string) => MemberLook['engines'][number] | undefined;
  readonly restartAgent: () => Promise<void>;
}

const QUICK = [
  ...['--simulated-start-seconds', '0.05', '--simulated-sleep-seconds', '0.05', '--simulated-wake-seconds', '0.05'],
  ...['--simulated-footprint', '4Gi', '--simulated-residue', '256Mi'],
];

const OPTIONS: AgentOptions = { settings: { engines: { lookEveryMs: 300, secondMs: 20 } } };

export async function startTestMember(here: TestNode): Promise<TestMember> {
  const { name: image } = await ensureSimulatedEngineImage();
  const devices = [orderedDevice(0), orderedDevice(1)];
  const memoryBytes = 256 * 2 ** 20;
  const anchor = here.order({ image, ipc: 'shareable', devices, memoryBytes, command: [], retryable: false });
  const first = await here.startAgent(OPTIONS);
  await first.start([anchor]);
  const member: TestMember = {
    anchor,
    keeper: createKeeperLink(here.engine, containerName(anchor)),
    agent: first,
    engines: createEngineActivities(first.agent.engines),
    order: (changes = {}, simulated = []) => {
      const instanceId = changes.instanceId ?? `ins-${randomBytes(6).toString('hex')}`;
      const order: EngineOrder = {
        instanceId,
        claimId: 'clm-1',
        modelName: 'a',
        memberSessionId: anchor.sessionId,
        anchorKernelId: anchor.kernelId,
        anchorAttempt: 1,
        engine: 'vllm',
        image,
        registryCredentials: null,
        artifactUrl: 'folder://model',
        artifactSha256: null,
        args: [...QUICK, ...simulated],
        parallel: { tensor: 1, pipeline: 1 },
        environment: {},
        apiKey: 'a-key',
        devices: devices.slice(0, 1).map(({ share: _share, ...device }) => device),
        memoryBytes,
        cpuMilli: 1000,
        ipcName: segmentName(instanceId),
        limitBytes: 2 * GIB,
        maximumFootprintBytes: 4 * GIB,
        startDeadlineSeconds: 30,
        drainSeconds: 5,
        ...changes,
      };
      here.api.engineOrders.set(instanceId, order);
      return order;
    },
    run: (name, input) => {
      const activity = member.engines[name].bind(member.engines) as (given: typeof input) => Promise<never>;
      return member.agent.environment.run(activity, input);
    },
    tell: async (port, knobs) => {
      const url = `http://127.0.0.1:${port}/simulated`;
      const headers = { connection: 'close' }; // an idle connection may be of the engine before this one
      // A look at the moment of a crash may say ready and the next restart.
      await vi.waitFor(() => fetch(url, { headers }), { timeout: 30_000, interval: 30 });
      const told = fetch(url, { method: 'POST', headers, body: JSON.stringify(knobs) });
      await ('crash' in knobs ? told.catch(() => undefined) : told); // it may be gone before it answers
    },
    lastLook: (instanceId) =>
      here.api.looks.flatMap(({ engines }) => engines).findLast((look) => look.instanceId === instanceId),
    restartAgent: async () => {
      await member.agent.stop();
      member.agent = await here.startAgent(OPTIONS);
      member.engines = createEngineActivities(member.agent.agent.engines);
    },
  };
  return member;
}
