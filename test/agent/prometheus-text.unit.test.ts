import { describe, expect, test } from 'vitest';
import { seriesOf } from '../../src/agent/prometheus-text.js';

const series = (text: string, most = 100) => Object.fromEntries(seriesOf(text, most));

describe('Prometheus text', () => {
  test('is summed over labels, by series', () => {
    const text = [
      '# HELP vllm:num_requests_running requests',
      '# TYPE vllm:num_requests_running gauge',
      'vllm:num_requests_running{engine="0",model_name="a"} 3.0',
      'vllm:num_requests_running{engine="1",model_name="a"} 4 1700000000000',
      'up 1',
    ].join('\r\n');
    expect(series(text)).toEqual({ 'vllm:num_requests_running': 7, up: 1 });
  });

  test('takes label values with braces, escaped quotes, spaces and signs, and leaves exemplars', () => {
    const text = ['a{x="}\\" 5 {",y="#"} 2', 'a {x="é 日本",} -0.5e1', 'b_total{x="1"} 9 # {trace="z"} 0.7 1.5'].join(
      '\n',
    );
    expect(series(text)).toEqual({ a: -3, b_total: 9 });
  });

  test('leaves out what is not finite, and the parts of histograms and summaries', () => {
    const text = [
      'n NaN',
      'i +Inf',
      'i{x="1"} -Inf',
      'o 1e308',
      'o{x="1"} 1.7e308',
      'h_bucket{le="1"} 2',
      'h_created 1.7e9',
    ];
    const more = ['g{a="1", le="+Inf"} 2', 's{quantile="0.5"} 2', 's_sum 8', 's_count 4', '__proto__ 1', 'n{x="y"} 2'];
    expect(series([...text, ...more].join('\n'))).toEqual({ s_sum: 8, s_count: 4, n: 2 });
  });

  test.each([
    ['', 'nothing'],
    ['<!doctype html><html><body>404 1</body></html>', 'a page'],
    ['{"a": 1}', 'JSON'],
    ['a\na{\na{x="1" 2\n1a 2\na 0x10\na 1_000\na{x="1"}2\na one', 'lines that are cut or wrong'],
    ['\u0000\ufffd\u{10ffff} 1', 'bytes'],
  ])('%j has no series: %s', (text) => {
    expect(series(text)).toEqual({});
  });

  test('keeps so many series as it is told, the first ones, and long names not at all', () => {
    expect(series(`a 1\nb 2\nc 3\na{x="1"} 1\n${'d'.repeat(201)} 1`, 2)).toEqual({ a: 2, b: 2 });
  });

  test('of a megabyte in one line takes no time', () => {
    const began = performance.now();
    expect(series(`a{${'x="'.repeat(300_000)}\n${'{"'.repeat(300_000)}\na{x="${'\\"'.repeat(300_000)}"} 1`)).toEqual({
      a: 1,
    });
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});
