import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { helpPage } from '../../src/cli/help-page.js';
import { createProgram } from '../../src/cli/program.js';
import { VERSION } from '../../src/cli/version.js';

const ROOT = join(import.meta.dirname, '..', '..');

test('docs/cli.md is what the program says of itself (else: npx tsx infra/completions/write-cli-page.ts)', () => {
  expect(readFileSync(join(ROOT, 'docs', 'cli.md'), 'utf8')).toBe(helpPage(createProgram()));
});

test('its version is that of the package', () => {
  expect(VERSION).toBe((JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version);
});

test('every command of the issue is there', () => {
  const names = createProgram().commands.map((command) => command.name());
  const wanted = 'up down status doctor login run ps get describe why logs stop kill wait exec queue history';
  expect(names).toEqual(
    expect.arrayContaining([
      ...wanted.split(' '),
      ...'inspect node quota group folder key snapshot plan demo'.split(' '),
    ]),
  );
});
