import {
  CancellationScope,
  continueAsNew,
  patched,
  setCurrentDetails,
  setWorkflowOptions,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { DEFAULT_DURATIONS, type Durations } from '../src/lifecycle/durations.js';
import { control, presenceOf } from './activity-table.js';
import { show } from './search.js';
import { ranItsTime } from './start-failure.js';

export interface NodeInput {
  readonly node: string;
  readonly durations?: Durations;
}

/**
 * Watches one node: a long activity on the node's own queue whose heartbeat is the node's beat. What a silence means is
 * decided on Postgres's clock (`nodeSilent`), since a Temporal outage is not a dead fleet.
 */
export async function nodeWorkflow({ node, durations = DEFAULT_DURATIONS }: NodeInput): Promise<void> {
  show({ status: 'WATCHED', nodes: [node] });
  setCurrentDetails(`Node \`${node}\`: \`berth node get ${node}\``);
  let silent: boolean | undefined;
  for (;;) {
    silent ??= await fellSilent(node, durations.nodeSilenceMs, durations);
    if (silent) {
      const silence = await control.nodeSilent(node, durations.nodeSilenceMs);
      setCurrentDetails(`Node \`${node}\`: ${silence.detail}`);
      if (silence.verdict === 'removed') return;
      silent = silence.verdict === 'lost' ? await whileLost({ node, durations }, silence.endAfterMs) : undefined;
      if (silence.verdict === 'grace') silent = await throughGrace({ node, durations }, silence.retryAfterMs);
    } else silent = undefined;
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof nodeWorkflow>({ node, durations });
  }
}

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, nodeWorkflow);

/** True when the beat stopped or never began; false when the activity only reached the end of its day. */
async function fellSilent(node: string, scheduleToStartMs: number, { nodeSilenceMs }: Durations): Promise<boolean> {
  try {
    await presenceOf(node, nodeSilenceMs, scheduleToStartMs)(node);
    return false;
  } catch (error) {
    return !ranItsTime(error);
  }
}

/** An agent that was cut off asks for its task again within this. */
const reconnectMs = ({ nodeSilenceMs }: Durations): number => Math.min(nodeSilenceMs / 2, 10_000);

/**
 * Nobody is lost within a grace, and a beat ends the silence; without one the question is asked again when the grace is
 * over. (Before the patch a whole limit of silence came after it, so a node was LOST after 85 s of silence, not 50.)
 */
async function throughGrace({ node, durations }: Required<NodeInput>, graceMs: number): Promise<boolean | undefined> {
  if (patched('node-beat-within-grace')) return fellSilent(node, Math.max(graceMs, reconnectMs(durations)), durations);
  await sleep(Math.max(graceMs, 1), { summary: 'ask again about the silence' });
  return undefined;
}

/**
 * Waits for a beat of a LOST node (and asks again now and then whether the node still exists); after `endAfterMs` what was
 * placed there ends, if the node is LOST still: `failLost` looks at the row.
 */
async function whileLost({ node, durations }: Required<NodeInput>, endAfterMs: number): Promise<boolean> {
  const deadline = new CancellationScope();
  const ending = deadline
    .run(async () => {
      await sleep(Math.max(endAfterMs, 1), { summary: 'end what was placed on the lost node' });
      await CancellationScope.nonCancellable(() => control.failLost(node));
    })
    .catch(() => undefined);
  const silentAgain = await fellSilent(node, durations.lostPollMs, durations);
  deadline.cancel();
  await ending;
  return silentAgain;
}
