import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const rows = readFileSync(join(ROOT, 'docs/where-tested.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (rule|point) \|/.test(line));

/** Every “title” of a row with the test file that stands before it. */
function titlesOf(row: string): { file: string; title: string }[] {
  let file = '';
  return [...row.matchAll(/`(test\/[^`]+\.ts)`|“([^”]+)”/g)].flatMap(([, path, title]) => {
    if (path !== undefined) file = path;
    return title === undefined ? [] : [{ file, title }];
  });
}
/** As source has it: quotes that the source escapes are taken as they are. */
const source = (file: string): string => readFileSync(join(ROOT, file), 'utf8').replaceAll("\\'", "'");

describe('docs/where-tested.md', () => {
  test('names files that exist', () => {
    const files = rows.flatMap((row) => [
      ...row.matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/?[\w.-]*\.(?:ts|mjs|cjs|js|md|json))`/g),
    ]);
    const missing = files.map(([, path]) => path ?? '').filter((path) => !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });

  test('names titles that stand in their files', () => {
    const untrue = rows
      .flatMap(titlesOf)
      .filter(({ file, title }) => !existsSync(join(ROOT, file)) || !source(file).includes(title));
    expect(untrue).toEqual([]);
  });

  test('has a title in every row, or says which check stands for one', () => {
    expect(rows.filter((row) => titlesOf(row).length === 0)).toEqual([]);
  });
});
