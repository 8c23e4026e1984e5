import type { Command } from 'commander';

/** The help of every command as one Markdown page; hidden commands are left out. */
export function helpPage(program: Command): string {
  program.configureHelp({ helpWidth: 100 });
  const blocks = commandsOf(program, '').map(
    ([path, command]) => `## ${path}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`\n`,
  );
  return `# The command line\n\nWritten by \`npx tsx infra/completions/write-cli-page.ts\` from the program's own help.\n\n${blocks.join('\n')}`;
}

function commandsOf(command: Command, parent: string): readonly (readonly [path: string, command: Command])[] {
  const path = `${parent} ${command.name()}`.trim();
  const children = command.createHelp().visibleCommands(command);
  return [[path, command], ...children.flatMap((child) => commandsOf(child, path))];
}

const helpOf = (command: Command): string =>
  command
    .configureHelp({ helpWidth: 100 })
    .helpInformation()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();
