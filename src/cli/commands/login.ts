import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { usageError } from '../cli-error.js';
import { action, type CommandContext } from '../command-context.js';
import { readUserConfig, writeUserConfig } from '../config-files.js';

export function registerLogin(program: Command): void {
  program
    .command('login')
    .summary('keep URL and key of a Berth')
    .description(
      'Checks the key and keeps it with the URL as a context, mode 0600. The key: --token, BERTH_TOKEN, stdin, or asked for.',
    )
    .argument('<url>', 'of the API, http://host:port')
    .action(
      action(async (context, { args: [url = ''] }) => {
        if (!/^https?:/.test(url) || !URL.canParse(url))
          throw usageError(`"${url}" is not a URL: write http://host:port`);
        const token = context.flags.token ?? process.env['BERTH_TOKEN'] ?? (await readToken(context));
        const { Client } = await import('../../sdk/index.js');
        const me = await new Client({ baseUrl: url, token }).me();
        const name = context.flags.context ?? new URL(url).host.replace(/[^a-zA-Z0-9.-]/g, '-');
        const { contexts } = readUserConfig(process.env);
        const config = { current: name, contexts: { ...contexts, [name]: { url, token } } };
        const file = writeUserConfig(process.env, config);
        context.out.say(`logged in as ${me.user} (${me.role}, domain ${me.domain}); kept as "${name}" in ${file}`);
      }),
    );
}

async function readToken({ flags }: CommandContext): Promise<string> {
  if (!process.stdin.isTTY) {
    let text = '';
    for await (const chunk of process.stdin) text += String(chunk);
    if (text.trim() !== '') return text.trim();
    throw usageError('there is no key: give --token, BERTH_TOKEN, or the key on stdin');
  }
  if (flags.input === false) throw usageError('--no-input: give the key with --token or BERTH_TOKEN');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question('API key: ')).trim();
  } finally {
    terminal.close();
  }
}
