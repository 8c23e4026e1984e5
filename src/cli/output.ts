import { stringify } from 'yaml';
import { usageError } from './cli-error.js';
import { type Column, renderTable } from './table.js';

export const FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];

export interface Streams {
  /** Data only. */
  readonly stdout: (text: string) => void;
  /** Progress, warnings, hints. */
  readonly stderr: (text: string) => void;
}

/** How items of a kind are shown. */
export interface Shown<Item> {
  readonly columns: readonly Column<Item>[];
  readonly nameOf: (item: Item) => string;
  readonly idOf: (item: Item) => string;
  /** Told when a list has none. */
  readonly none?: string;
}

export interface OutputFlags {
  readonly output?: string | undefined;
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
}

/** `--json`, `-o`, BERTH_OUTPUT, then the project's file; a table when none says. */
export function resolveFormat(flags: OutputFlags, ...others: readonly (string | undefined)[]): Format {
  const [chosen = 'table'] = [flags.json === true ? 'json' : flags.output, ...others].filter(
    (text): text is string => text !== undefined && text !== '',
  );
  const format = FORMATS.find((name) => name === chosen);
  if (format === undefined) throw usageError(`--output: "${chosen}" is none of ${FORMATS.join(', ')}`);
  return format;
}

/** Writes what the API said: JSON and YAML unchanged, tables for people. */
export class Output {
  readonly format: Format;
  readonly isQuiet: boolean;
  readonly #streams: Streams;
  constructor(streams: Streams, how: { readonly format: Format; readonly isQuiet: boolean }) {
    this.#streams = streams;
    this.format = how.format;
    this.isQuiet = how.isQuiet;
  }

  get isData(): boolean {
    return this.format === 'json' || this.format === 'yaml';
  }

  line(text: string): void {
    this.#streams.stdout(`${text}\n`);
  }
  write(text: string): void {
    this.#streams.stdout(text);
  }
  /** A line on stderr. */
  say(text: string): void {
    this.#streams.stderr(`${text}\n`);
  }

  /** The object as it came; `-o json` in a stream (`compact`) is one line an object. */
  async data(value: unknown, isCompact = false): Promise<void> {
    if (this.format !== 'yaml') return this.line(JSON.stringify(value, null, isCompact ? undefined : 2));
    this.write(isCompact ? `---\n${stringify(value)}` : stringify(value));
  }

  async list<Item>(page: { readonly items: readonly Item[] }, shown: Shown<Item>): Promise<void> {
    if (this.isQuiet) return page.items.forEach((item) => this.line(shown.idOf(item)));
    if (this.format === 'name') return page.items.forEach((item) => this.line(shown.nameOf(item)));
    if (this.isData) return this.data(page);
    if (page.items.length === 0) return this.say(shown.none ?? 'nothing found');
    this.line(renderTable(page.items, shown.columns, { isWide: this.format === 'wide', now: new Date() }));
  }

  async one<Item>(item: Item, shown: Shown<Item>): Promise<void> {
    if (this.isData && !this.isQuiet) return this.data(item);
    return this.list({ items: [item] }, shown);
  }

  /** After a change: the object for programs, its name or id for scripts, `text` on stderr for people. */
  async done<Item>(item: Item, shown: Shown<Item>, text: string): Promise<void> {
    if (this.isQuiet || this.format !== 'table') return this.one(item, shown);
    this.line(shown.nameOf(item));
    this.say(text);
  }
}
