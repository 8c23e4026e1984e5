import { describe, expect, test } from 'vitest';
import {
  parseBytes,
  parseCount,
  parseCpu,
  parseDurationMilliseconds,
  parseGpus,
  type Written,
} from '../../src/cli/amounts.js';
import { CliError } from '../../src/cli/cli-error.js';
import { formatBytes, formatCpu, formatSeconds } from '../../src/cli/format-amounts.js';
import { parseEnvironment, parseLabels, parseMount, parsePort } from '../../src/cli/run-options.js';

const of =
  <Value>(parse: (written: Written) => Value) =>
  (text: string): Value =>
    parse({ name: '--option', text });

function table<Value>(
  title: string,
  parse: (text: string) => Value,
  rows: readonly (readonly [string, Value])[],
): void {
  for (const [text, want] of rows) test(`${title} ${text}`, () => expect(parse(text)).toEqual(want));
}
function refused(title: string, parse: (text: string) => unknown, texts: readonly string[]): void {
  for (const text of texts) {
    test(`${title} ${JSON.stringify(text)} is refused, with option, text and mend`, () => {
      expect(() => parse(text)).toThrow(CliError);
      expect(() => parse(text)).toThrow(/^--option: ".*" .+(write|whole number)/s);
    });
  }
}

describe('cores', () => {
  table('of', of(parseCpu), [
    ['2', 2000],
    ['0.5', 500],
    ['500m', 500],
    ['0.001', 1],
    ['1.10', 1100],
    ['2.675', 2675],
  ]);
  refused('of', of(parseCpu), ['', '-1', '1e3', '0.0001', '2cores', '1.', '.5', 'NaN', '0.5m', '1,5']);
});

describe('bytes', () => {
  table('of', of(parseBytes), [
    ['8Gi', 8 * 2 ** 30],
    ['512Mi', 512 * 2 ** 20],
    ['1.5G', 1_500_000_000],
    ['0.5Ki', 512],
    ['1048576', 1_048_576],
    ['2Ti', 2 * 2 ** 40],
  ]);
  refused('of', of(parseBytes), ['8gb', '8GB', '-8Gi', '0.3Ki', '1.1', '8 Gi', '9999999999Ti', '']);
});

describe('durations', () => {
  table('of', of(parseDurationMilliseconds), [
    ['30', 30_000],
    ['0.25', 250],
    ['250ms', 250],
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1.5h', 5_400_000],
  ]);
  refused('of', of(parseDurationMilliseconds), ['10 m', '5min', 'm', '1h-5m', '0.0001s', '']);
});

describe('GPUs', () => {
  table('of', of(parseGpus), [
    ['2', { count: 2, model: undefined }],
    ['h100:8', { count: 8, model: 'h100' }],
    ['NVIDIA A100-80GB:1', { count: 1, model: 'NVIDIA A100-80GB' }],
  ]);
  refused('of', of(parseGpus), ['', 'h100', '0.5', '-1', 'h100:', ':2', '2:h100']);
});

describe('counts', () => {
  table(
    'of',
    of((written) => parseCount(written)),
    [
      ['0', 0],
      ['17', 17],
    ],
  );
  refused(
    'of',
    of((written) => parseCount(written, 1)),
    ['0', '-1', '1.5', 'one'],
  );
});

describe('mounts', () => {
  table('of', of(parseMount), [
    ['data:/data', { folder: 'data', target: '/data', readOnly: false }],
    ['data:/a/b:ro', { folder: 'data', target: '/a/b', readOnly: true }],
    ['data:/a:rw', { folder: 'data', target: '/a', readOnly: false }],
  ]);
  refused('of', of(parseMount), ['data', 'data:relative', 'data:/a:xx', ':/a']);
});

describe('ports', () => {
  table('of', of(parsePort), [
    ['8888', { name: 'port-8888', containerPort: 8888 }],
    ['web:80', { name: 'web', containerPort: 80 }],
  ]);
  refused('of', of(parsePort), ['0', '65536', 'web', '80:90:100', 'Web:80']);
});

test('environment takes a value, with = in it, or the value from here', () => {
  expect(parseEnvironment(['A=1=2', 'B=', 'C'], { C: 'here' })).toEqual({ A: '1=2', B: '', C: 'here' });
  expect(() => parseEnvironment(['D'], {})).toThrow(/--env: "D" has no value/);
});

test('labels need a key and a value', () => {
  expect(parseLabels(['team=a=b'])).toEqual({ team: 'a=b' });
  expect(() => parseLabels(['=x'])).toThrow(/--label/);
});

describe('shown', () => {
  table('bytes', (text) => formatBytes(Number(text)), [
    ['0', '0'],
    ['1536', '1.5Ki'],
    [String(24 * 2 ** 30), '24Gi'],
  ]);
  table('cores', (text) => formatCpu(Number(text)), [
    ['500', '0.5'],
    ['2000', '2'],
  ]);
  table('seconds', (text) => formatSeconds(Number(text)), [
    ['-3', '0s'],
    ['59', '59s'],
    ['90', '1m30s'],
    ['3600', '1h'],
    ['36000', '10h'],
    ['180000', '2d2h'],
  ]);
});
