import {
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import { DEFAULT_DURATIONS, type Durations, WAKE_FLOOR_MS } from '../src/lifecycle/durations.js';
import { control } from './activity-table.js';
import { kickSignal } from './messages.js';

export interface GroupInput {
  readonly group: string;
  /** A kick that came during the last pass of the run before. */
  readonly dirty: boolean;
  readonly durations?: Durations;
}

/**
 * Plans for one resource group whenever the ledger may have changed: after a kick, at the next wake that the last plan
 * named, and at least at each slow net. The pass itself is one activity; its result here is a count.
 */
export async function groupWorkflow({ group, dirty, durations = DEFAULT_DURATIONS }: GroupInput): Promise<void> {
  let kicked = dirty;
  setHandler(kickSignal, () => {
    kicked = true;
  });
  let wakeMs: number | null = 0; // a new run looks at once
  for (;;) {
    const waitMs = Math.min(wakeMs ?? durations.slowNetMs, durations.slowNetMs);
    if (waitMs > 0)
      await condition(() => kicked, Math.max(waitMs, WAKE_FLOOR_MS), { summary: 'next pass at the latest' });
    kicked = false;
    const pass = await control.plan(group);
    if (pass.outcome === 'missing') return;
    setCurrentDetails(pass.head);
    kicked ||= pass.again;
    wakeMs = kicked ? 0 : pass.nextWakeMs;
    if (workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof groupWorkflow>({ group, dirty: kicked, durations });
  }
}

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, groupWorkflow);
