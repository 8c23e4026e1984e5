import { expect, test } from 'vitest';
import type { Engine } from '../../src/contract/index.js';
import { refuseEngineArgs } from '../../src/engines/engine-args.js';

test.each<[Engine, string]>([
  ['vllm', '--gpu-memory-utilization'],
  ['vllm', '--gpu_memory_utilization=0.9'],
  ['vllm', '--gpu-mem'],
  ['vllm', '--port'],
  ['vllm', '--host=0.0.0.0'],
  ['vllm', '--served-model-name'],
  ['vllm', '--tensor-parallel-size'],
  ['vllm', '-tp=2'],
  ['vllm', '-tp2'],
  ['vllm', '--api-key'],
  ['vllm', '--enable-sleep-mode'],
  ['sglang', '--mem-fraction-static'],
  ['sglang', '--tp-size'],
  ['sglang', '--model-path=/x'],
])('%s: %s is Berth’s to give, and refused by name', (engine, arg) => {
  const [refused, ...more] = refuseEngineArgs(engine, ['--max-model-len', '2048', arg, '1']);
  expect(refused?.message).toContain("is not the claim's");
  expect(arg.startsWith(refused?.arg ?? '-')).toBe(true);
  expect(more).toEqual([]);
});

test.each<[Engine, readonly string[]]>([
  ['vllm', ['--max-model-len', '2048', '--dtype=float16', '--enforce-eager', '-O3', '--hf-overrides', '{}']],
  ['vllm', ['--simulated-footprint', '30Gi', '--tool-call-parser', 'hermes', '--trust-remote-code']],
  ['sglang', ['--context-length', '4096', '--quantization', 'fp8']],
])('%s: a claim’s own arguments stand: %s', (engine, args) => {
  expect(refuseEngineArgs(engine, args)).toEqual([]);
});
