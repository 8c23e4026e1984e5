import type { Command } from 'commander';
import { usageError } from '../cli-error.js';
import { action } from '../command-context.js';
import { readJsonFile } from '../read-json-file.js';

export function registerPlan(program: Command): void {
  program
    .command('plan')
    .summary('what a pass decides from a snapshot, with reasons; needs no server')
    .description('Plans a snapshot as the next pass would: who is placed where, who waits for what. Needs no server.')
    .argument('<file>', 'of berth snapshot; - for stdin')
    .option('--now <time>', 'the moment it plans for (RFC 3339); the moment of the snapshot when omitted')
    .action(
      action<{ readonly now?: string }>(async ({ out }, { args: [file = ''], options: { now } }) => {
        if (now !== undefined && Number.isNaN(Date.parse(now))) {
          throw usageError(`--now: "${now}" is not a time: write 2026-11-30T13:20:00Z`);
        }
        const { planSnapshot } = await import('../plan-snapshot.js');
        const { plan, snapshot } = planSnapshot(await readJsonFile(file, 'berth snapshot -f FILE'), now);
        if (out.isData) return out.data(plan);
        const { planText } = await import('../plan-text.js');
        out.line(planText(plan, snapshot));
      }),
    );
}
