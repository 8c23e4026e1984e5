import CliTable from 'cli-table3';

export interface Column<Item> {
  readonly head: string;
  readonly of: (item: Item, now: Date) => string;
  /** Shown with `-o wide` only. */
  readonly isWide?: boolean;
}

const NO_BORDERS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right']
    .concat(['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((place) => [place, '']),
);

/** Control characters of a name, a log or a message must not reach the terminal. */
// biome-ignore lint: the range is the point
const plain = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');

/** Columns with two spaces between them, no borders, no trailing blanks. */
export function renderTable<Item>(
  items: readonly Item[],
  columns: readonly Column<Item>[],
  how: { readonly isWide: boolean; readonly now: Date },
): string {
  const shown = columns.filter((column) => how.isWide || column.isWide !== true);
  const table = new CliTable({
    head: shown.map(({ head }) => head),
    chars: NO_BORDERS,
    style: { 'padding-left': 0, 'padding-right': 2, head: [], border: [], compact: true },
  });
  for (const item of items) table.push(shown.map((column) => plain(column.of(item, how.now))));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
