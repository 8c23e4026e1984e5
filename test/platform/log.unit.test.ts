import { expect, test } from 'vitest';
import { createLogger, withoutPassword } from '../../src/platform/log.js';

test('secrets are not logged, at the top or two levels down', () => {
  let text = '';
  const destination = { write: (line: string) => (text += line) };
  const log = createLogger({ process: 'test', level: 'info', destination });
  log.info(
    { token: 'geheim', config: { databaseUrl: 'geheim' }, request: { headers: { authorization: 'geheim' } } },
    'said',
  );
  expect(text).toContain('said');
  expect(text).not.toContain('geheim');
});

test('a URL is shown without its password, and what is none not at all', () => {
  expect(withoutPassword('postgres://u:geheim@h:1/d')).toBe('postgres://u:***@h:1/d');
  expect(withoutPassword('geheim')).toBe('[not a URL]');
});
