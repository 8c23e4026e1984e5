import type { Command } from 'commander';
import { usageError } from '../cli-error.js';
import { action } from '../command-context.js';
import { readJsonFile } from '../read-json-file.js';

export function registerModelsPlan(program: Command): void {
  program
    .command('models')
    .summary('what the planner of a pool decides, from a file; needs no server')
    .description('The planner of model claims on its own.')
    .command('plan')
    .summary('decisions for a snapshot of a pool, with reasons')
    .description(
      'Plans a snapshot of a pool as its next turn would: places, sleeps, wakes, limits, each with its reason.',
    )
    .argument('<file>', 'JSON (schema PoolSnapshot); - for stdin')
    .option('--now <time>', 'the moment it plans for (RFC 3339); now when omitted')
    .action(
      action<{ readonly now?: string }>(async ({ out }, { args: [file = ''], options: { now } }) => {
        const nowMs = now === undefined ? Date.now() : Date.parse(now);
        if (Number.isNaN(nowMs)) throw usageError(`--now: "${now}" is not a time: write 2026-11-30T13:20:00Z`);
        const { planPoolSnapshot } = await import('../plan-pool-snapshot.js');
        const { plan, snapshot } = planPoolSnapshot(await readJsonFile(file), nowMs);
        if (out.isData) return out.data(plan);
        const { poolPlanText } = await import('../pool-plan-text.js');
        out.line(poolPlanText(plan, snapshot, new Date(nowMs)));
      }),
    );
}
