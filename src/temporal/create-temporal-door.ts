import { createHash } from 'node:crypto';
import {
  type Client,
  isGrpcServiceError,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ADMIT_UPDATE_ID, type AdmitAnswer, admitUpdate, kickSignal, orderedSignal } from '../../workflows/messages.js';
import type { SessionId } from '../contract/index.js';
import type { Durations } from '../lifecycle/durations.js';
import {
  CONTROL_QUEUE,
  deploymentWorkflowId,
  groupWorkflowId,
  modelWorkflowId,
  nodeWorkflowId,
  poolWorkflowId,
  sessionWorkflowId,
  WORKFLOW_TYPES,
  warmWorkflowId,
} from '../lifecycle/names.js';
import type { DueSignal } from '../store/store.js';
import { connectTemporal, type TemporalAddress } from './connect.js';
import type { ShownOwner, SubmitAnswer, TemporalDoor } from './door.js';
import { ownerAttributes } from './search-attributes.js';

export interface DoorOptions extends TemporalAddress {
  /** Short ones in tests; a workflow keeps those it was started with. */
  readonly durations?: Durations | undefined;
}

export function createTemporalDoor({ durations, ...address }: DoorOptions): TemporalDoor {
  const { client, connection } = connectTemporal(address);
  const timed = durations === undefined ? {} : { durations };
  const start = async (type: string, workflowId: string, input: object) => {
    await client.workflow.start(type, {
      workflowId,
      taskQueue: CONTROL_QUEUE,
      args: [{ ...input, ...timed }],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
  };
  const signalWithStart = async (type: string, workflowId: string, told: Told) => {
    const { signal, input } = told;
    const args = [{ ...input, ...timed }];
    await client.workflow.signalWithStart(type, { workflowId, taskQueue: CONTROL_QUEUE, signal, args });
  };
  return {
    submitSession: (sessionId, waitMs, shown) => submit({ client, timed }, { sessionId, shown }, waitMs),
    takeOverSession: (sessionId) =>
      start(WORKFLOW_TYPES.session, sessionWorkflowId(sessionId), { sessionId, shown: false, takeOver: true }),
    kickGroup: (group) =>
      signalWithStart(WORKFLOW_TYPES.group, groupWorkflowId(group), {
        signal: kickSignal,
        input: { group, dirty: false },
      }),
    kickPool: (pool) =>
      signalWithStart(WORKFLOW_TYPES.pool, poolWorkflowId(pool), {
        signal: kickSignal,
        input: { pool, kicked: false },
      }),
    ensurePool: (pool) => start(WORKFLOW_TYPES.pool, poolWorkflowId(pool), { pool, kicked: false }),
    signalModel: (claimId) =>
      signalWithStart(WORKFLOW_TYPES.model, modelWorkflowId(claimId), { signal: orderedSignal, input: { claimId } }),
    kickDeployment: (deploymentId) =>
      signalWithStart(WORKFLOW_TYPES.deployment, deploymentWorkflowId(deploymentId), {
        signal: kickSignal,
        input: { deploymentId, kicked: false },
      }),
    openDeploymentIds: () => openIds(client, WORKFLOW_TYPES.deployment, deploymentWorkflowId('')),
    openModelIds: () => openIds(client, WORKFLOW_TYPES.model, modelWorkflowId('')),
    signalSession: (signal) => signalSession(client, signal),
    ensureNode: (node) => start(WORKFLOW_TYPES.node, nodeWorkflowId(node), { node }),
    warmNode: (node, images) =>
      start(WORKFLOW_TYPES.warm, warmWorkflowId(node, hashOfImages(images)), { node, images }),
    ensureGroup: (group) => start(WORKFLOW_TYPES.group, groupWorkflowId(group), { group, dirty: false }),
    openSessionIds: () => openIds(client, WORKFLOW_TYPES.session, sessionWorkflowId('')),
    sessionWorkflowState: (sessionId) => stateOf(client, sessionId),
    async ping(timeoutMs) {
      await connection.withDeadline(Date.now() + timeoutMs, () => connection.workflowService.getSystemInfo({}));
    },
    close: () => connection.close(),
  };
}

interface Told {
  readonly signal: typeof kickSignal | typeof orderedSignal;
  readonly input: object;
}

/** The same for the same images in any order. */
const hashOfImages = (images: readonly string[]): string =>
  createHash('sha256')
    .update([...images].sort().join('\n'))
    .digest('hex')
    .slice(0, 16);

interface Submitting {
  readonly client: Client;
  readonly timed: { readonly durations?: Durations };
}

/**
 * Start and update in one call. Whatever keeps the answer away (no worker, no server, a workflow that ended) is `pending`:
 * the submission is stored, and the sweeper starts what was not started.
 */
async function submit(
  { client, timed }: Submitting,
  { sessionId, shown }: { readonly sessionId: SessionId; readonly shown: ShownOwner | undefined },
  waitMs: number,
): Promise<SubmitAnswer> {
  const startWorkflowOperation = new WithStartWorkflowOperation(WORKFLOW_TYPES.session, {
    workflowId: sessionWorkflowId(sessionId),
    taskQueue: CONTROL_QUEUE,
    args: [{ sessionId, shown: shown !== undefined, ...timed }],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    ...(shown === undefined ? {} : { typedSearchAttributes: ownerAttributes(shown) }),
  });
  try {
    return await client.withDeadline(Date.now() + waitMs, () =>
      client.workflow.executeUpdateWithStart<never, AdmitAnswer, []>(admitUpdate, {
        updateId: ADMIT_UPDATE_ID,
        startWorkflowOperation: startWorkflowOperation as never,
      }),
    );
  } catch (error) {
    if (answerIsLate(error)) return { outcome: 'pending' };
    throw error;
  }
}

const answerIsLate = (error: unknown): boolean =>
  error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
  error instanceof WorkflowExecutionAlreadyStartedError ||
  error instanceof WorkflowUpdateFailedError ||
  isGrpcServiceError(error);

async function signalSession(client: Client, { sessionId, kind, ...told }: DueSignal): Promise<boolean> {
  try {
    await client.workflow.getHandle(sessionWorkflowId(sessionId)).signal(kind, told);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

async function* openIds(client: Client, type: string, prefix: string): AsyncIterable<string> {
  const query = `WorkflowType = '${type}' AND ExecutionStatus = 'Running'`;
  for await (const { workflowId } of client.workflow.list({ query, pageSize: 1000 })) {
    yield workflowId.slice(prefix.length);
  }
}

async function stateOf(client: Client, sessionId: SessionId): Promise<'open' | 'closed' | 'missing'> {
  try {
    const { status } = await client.workflow.getHandle(sessionWorkflowId(sessionId)).describe();
    return status.name === 'RUNNING' ? 'open' : 'closed';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'missing';
    throw error;
  }
}
