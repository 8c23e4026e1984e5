import { writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { type Command, Option } from 'commander';
import { usageError } from '../cli-error.js';
import { action, type CommandContext } from '../command-context.js';
import { type PeriodFlags, reportPeriod } from '../report-period.js';

const FORMATS = ['markdown', 'html', 'json'] as const;
type Format = (typeof FORMATS)[number];
const BY_ENDING: Readonly<Record<string, Format>> = {
  '.md': 'markdown',
  '.html': 'html',
  '.htm': 'html',
  '.json': 'json',
};

interface Flags extends PeriodFlags {
  readonly format?: Format;
  readonly file?: string;
  readonly idleBelow?: string;
}

/** `berth budget report`: below the command `budget`. */
export function registerBudgetReport(budget: Command): void {
  budget
    .command('report')
    .summary('what became of a period’s GPU-time')
    .description(
      'What became of a period’s GPU-time: from all there was to what was used, budget by budget, with waits, paid and idle sessions and broken contracts. The window that ends now unless a period is named.',
    )
    .argument('[budget]', 'a path as research/nlp, or an id; root (the whole tree) when omitted')
    .option('--week <week>', 'an ISO week, 2026-W48; this; last')
    .option('--from <moment>', '2026-11-23, 2026-11-23T18:00:00Z, or 7d (so long ago)')
    .option('--until <moment>', 'as --from; not included')
    .option('--idle-below <percent>', 'charged sessions with less use are listed as paid and idle; 10 when omitted')
    .addOption(new Option('--format <format>', 'markdown when neither it nor the file says').choices(FORMATS))
    .option('-f, --file <file>', 'where to; stdout when omitted. Its ending (.md, .html, .json) says the format')
    .action(
      action<Flags>(async (context, { args: [path = 'root'], options }) => {
        const text = await reportText(context, path, options);
        if (options.file === undefined) return context.out.write(text);
        await writeFile(options.file, text);
        context.out.say(`wrote ${options.file}, ${Buffer.byteLength(text)} bytes`);
      }),
    );
}

async function reportText({ client, out }: CommandContext, path: string, flags: Flags): Promise<string> {
  const fromFile = flags.file === undefined ? undefined : BY_ENDING[extname(flags.file).toLowerCase()];
  const format = flags.format ?? fromFile ?? (out.format === 'json' ? 'json' : 'markdown');
  const query = { ...reportPeriod(flags, new Date()), ...idleBelow(flags) };
  const { reports } = await client();
  if (format !== 'json') return reports.text(path, { ...query, format });
  return `${JSON.stringify(await reports.get(path, query), null, 2)}\n`;
}

function idleBelow({ idleBelow: text }: Flags): { readonly idleBelowPercent?: number } {
  if (text === undefined) return {};
  const percent = Number(text.replace(/\s*%$/, ''));
  if (!(percent >= 0 && percent <= 100)) throw usageError(`--idle-below: "${text}" is no percentage from 0 to 100`);
  return { idleBelowPercent: percent };
}
