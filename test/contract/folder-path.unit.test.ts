import { expect, test } from 'vitest';
import { foldedName, folderPathSchema } from '../../src/contract/index.js';

const REFUSED: readonly (readonly [title: string, path: string])[] = [
  ['nothing', ''],
  ['an absolute path', '/etc/passwd'],
  ['a climb', '../x'],
  ['a climb in the middle', 'a/../../x'],
  ['a climb at the end', 'a/..'],
  ['the folder itself', '.'],
  ['a dot part', 'a/./b'],
  ['an empty part', 'a//b'],
  ['a trailing slash', 'a/'],
  ['NUL', 'a\0b'],
  ['a line feed', 'a\nb'],
  ['a C1 control', 'a\u0085b'],
  ['a backslash', 'a\\..\\b'],
  ['an encoded climb', '%2e%2e/x'],
  ['an encoded slash', 'a%2Fb'],
  ['an encoded backslash', 'a%5cb'],
  ['an encoded NUL', 'a%00b'],
  ['a climb that is encoded twice', '%252e%252e/x'],
  ['a name in Unicode NFD', 'cafe\u0301'],
  ['full-width dots', '\uff0e\uff0e/x'],
  ['a two-dot leader', '\u2025/x'],
  ['a full-width slash', 'a\uff0fb'],
  ['a full-width backslash', 'a\uff3cb'],
  ['a right-to-left override', 'gpj.\u202eexe'],
  ['a zero-width space', 'a\u200bb'],
  ['a byte order mark', '\ufeffa'],
  ['half of a surrogate pair', 'a\ud800'],
  ['a name of 256 bytes', 'x'.repeat(256)],
  ['a name of 128 letters of two bytes', 'ä'.repeat(128)],
  ['a path of 1025 characters', 'x/'.repeat(512) + 'y'],
];
test.each(REFUSED)('a path is refused: %s', (_title, path) => {
  expect(folderPathSchema.safeParse(path).success).toBe(false);
});

const TAKEN: readonly (readonly [title: string, path: string])[] = [
  ['plain', 'models/llama.bin'],
  ['dots in a name', 'a/..b/c..d/...'],
  ['a leading dot', '.cache/x'],
  ['spaces and quotes', 'my "best" model.txt'],
  ['letters of every script', 'データ/модель/ä.txt'],
  ['a percent sign', '50%/100%25'],
  ['a name of 255 bytes', 'x'.repeat(255)],
];
test.each(TAKEN)('a path is taken: %s', (_title, path) => {
  expect(folderPathSchema.parse(path)).toBe(path);
});

test.each([
  ['README', 'readme'],
  ['ſ', 's'],
  ['ﬁle', 'FILE'],
  ['Ä', 'ä'],
])('%s and %s are one name where case is folded', (one, other) => {
  expect(foldedName(one)).toBe(foldedName(other));
});
