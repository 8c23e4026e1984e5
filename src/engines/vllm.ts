import type { EngineAdapter, EngineLaunch, EngineLoad, EngineProcess } from './engine-adapter.js';
import { kvcachedEnvironment } from './kvcached.js';
import { sumOf } from './prometheus-text.js';

const PORT = 8000;

/**
 * vLLM's OpenAI server under kvcached. `VLLM_SERVER_DEV_MODE` opens the sleep endpoints; the key is asked for under `/v1`
 * alone, so that health, metrics and sleep need none.
 */
export const vllm: EngineAdapter = {
  engine: 'vllm',
  process: vllmProcess,
  health: { method: 'GET', path: '/health' },
  models: { method: 'GET', path: '/v1/models' },
  metrics: { method: 'GET', path: '/metrics' },
  readLoad,
  // a request that slips in between the look and the sleep is served first, not aborted
  sleep: { method: 'POST', path: '/sleep?level=1&mode=wait' },
  wake: { method: 'POST', path: '/wake_up' },
  sleeping: { method: 'GET', path: '/is_sleeping' },
  readSleeping: (body) => {
    try {
      const { is_sleeping: isSleeping } = JSON.parse(body) as { readonly is_sleeping?: unknown };
      return typeof isSleeping === 'boolean' ? isSleeping : undefined;
    } catch {
      return undefined;
    }
  },
};

function vllmProcess(launch: EngineLaunch): EngineProcess {
  const { tensor, pipeline } = launch.parallel;
  return {
    command: [
      'vllm',
      'serve',
      launch.modelPath,
      ...['--served-model-name', launch.modelName],
      ...['--host', '0.0.0.0', '--port', String(PORT)],
      '--enable-sleep-mode',
      ...(tensor > 1 ? ['--tensor-parallel-size', String(tensor)] : []),
      ...(pipeline > 1 ? ['--pipeline-parallel-size', String(pipeline)] : []),
      ...launch.args,
    ],
    environment: {
      ...launch.environment,
      ...kvcachedEnvironment(launch),
      VLLM_SERVER_DEV_MODE: '1',
      VLLM_API_KEY: launch.apiKey,
    },
    port: PORT,
  };
}

/** `vllm:request_success_total` has a sample for each reason why a request ended. */
function readLoad(text: string): EngineLoad | undefined {
  const running = sumOf(text, 'vllm:num_requests_running');
  const waiting = sumOf(text, 'vllm:num_requests_waiting');
  if (running === undefined || waiting === undefined) return undefined;
  return { running, waiting, completed: sumOf(text, 'vllm:request_success_total') ?? 0 };
}
