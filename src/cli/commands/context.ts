import type { Command } from 'commander';
import { usageError } from '../cli-error.js';
import { action } from '../command-context.js';
import { readLocalContext, readUserConfig, writeUserConfig } from '../config-files.js';
import type { Shown } from '../output.js';
import { LOCAL_CONTEXT } from '../target.js';

interface Row {
  readonly name: string;
  readonly url: string;
  readonly current: boolean;
}
const SHOWN: Shown<Row> = {
  nameOf: ({ name }) => name,
  idOf: ({ name }) => name,
  columns: [
    { head: 'NAME', of: ({ name, current }) => (current ? `${name} *` : name) },
    { head: 'URL', of: ({ url }) => url },
  ],
};

export function registerContext(program: Command): void {
  const context = program.command('context').summary('Berths you have logged in to').description('Kept contexts.');
  context
    .command('ls')
    .summary('list contexts')
    .action(
      action(async ({ out }) => {
        const { contexts, current } = readUserConfig(process.env);
        const local = readLocalContext(process.env);
        const all = { ...(local === undefined ? {} : { [LOCAL_CONTEXT]: local }), ...contexts };
        const items = Object.entries(all).map(([name, { url }]) => ({ name, url, current: name === current }));
        await out.list({ items }, SHOWN);
      }),
    );
  context
    .command('use')
    .summary('make one the current')
    .argument('<name>')
    .action(
      action(async ({ out }, { args: [name = ''] }) => {
        const config = readUserConfig(process.env);
        if (config.contexts[name] === undefined) throw usageError(`there is no context "${name}"`, 'berth context ls');
        writeUserConfig(process.env, { ...config, current: name });
        out.say(`${name} is the current context`);
      }),
    );
}
