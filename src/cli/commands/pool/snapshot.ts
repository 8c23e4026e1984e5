import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { action } from '../../command-context.js';

export function registerPoolSnapshot(pool: Command): void {
  pool
    .command('snapshot')
    .summary('save all that the next turn of its planner decides from')
    .description(
      'Saves all that the next turn decides from, as JSON. berth models plan FILE plans it; bug reports carry one.',
    )
    .argument('<name>')
    .option('-f, --file <file>', 'where to; stdout when omitted')
    .action(
      action<{ readonly file?: string }>(async ({ client, out }, { args: [name = ''], options: { file } }) => {
        const snapshot = await (await client()).pools.snapshot(name);
        const text = `${JSON.stringify(snapshot, null, 2)}\n`;
        if (file === undefined) return out.write(text);
        await writeFile(file, text);
        out.say(`${snapshot.gpus.length} GPUs, ${snapshot.claims.length} models; plan it: berth models plan ${file}`);
      }),
    );
}
