import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { action } from '../command-context.js';

export function registerSnapshot(program: Command): void {
  program
    .command('snapshot')
    .summary('save all that the next pass decides from')
    .description('Saves all that the next pass decides from, as JSON. berth plan FILE plans it; bug reports carry one.')
    .argument('[group]', 'resource group; default when omitted')
    .option('-f, --file <file>', 'where to; stdout when omitted')
    .action(
      action<{ readonly file?: string }>(async ({ client, out, project }, { args: [group], options: { file } }) => {
        const snapshot = await (await client()).queue.snapshot(group ?? project.group ?? 'default');
        const text = `${JSON.stringify(snapshot, null, 2)}\n`;
        if (file === undefined) return out.write(text);
        await writeFile(file, text);
        out.say(`${snapshot.nodes.length} nodes, ${snapshot.pending.length} waiting; plan it: berth plan ${file}`);
      }),
    );
}
