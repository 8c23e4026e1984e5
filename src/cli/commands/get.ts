import type { Command } from 'commander';
import { action } from '../command-context.js';
import { describeText } from '../describe-text.js';
import { KINDS, kindOf } from '../kinds.js';

const KIND_HELP = KINDS.map(({ names }) => names[0]).join(', ');

export function registerGet(program: Command): void {
  program
    .command('get')
    .summary('show things of a kind')
    .argument('<kind>', KIND_HELP)
    .argument('[name]', 'one of them')
    .action(
      action(async (context, { args: [kind = '', name] }) => {
        if (name === undefined) await kindOf(kind).list(context);
        else await kindOf(kind).get(context, name);
      }),
    );
}

export function registerDescribe(program: Command): void {
  program
    .command('describe')
    .summary('all about one thing')
    .argument('<kind>', KIND_HELP)
    .argument('<name>', 'name or id')
    .action(
      action(async ({ client, out }, { args: [kind = '', name = ''] }) => {
        const found = await kindOf(kind).find(await client(), name);
        if (out.isData) return out.data(found);
        out.line(describeText(found));
      }),
    );
}
