import { expect, test } from 'vitest';
import { createLogger, withoutPassword } from '../../src/platform/log.js';

function logged(what: object): string {
  let text = '';
  const destination = { write: (line: string) => (text += line) };
  createLogger({ process: 'test', level: 'info', destination }).info(what, 'said');
  return text;
}

test('secrets are not logged, at the top or two levels down', () => {
  const text = logged({
    ...{ token: 'geheim', config: { databaseUrl: 'geheim' } },
    request: { headers: { authorization: 'geheim' } },
  });
  expect(text).toContain('said');
  expect(text).not.toContain('geheim');
});

test.each(['err', 'error'])('what failed is told under %s with its message and stack', (name) => {
  const line: unknown = JSON.parse(logged({ [name]: new TypeError('no such row') }));
  expect(line).toMatchObject({ [name]: { type: 'TypeError', message: 'no such row', stack: expect.any(String) } });
});

test('a URL is shown without its password, and what is none not at all', () => {
  expect(withoutPassword('postgres://u:geheim@h:1/d')).toBe('postgres://u:***@h:1/d');
  expect(withoutPassword('geheim')).toBe('[not a URL]');
});
