import type { EngineAdapter, EngineLaunch, EngineLoad, EngineProcess } from './engine-adapter.js';
import { kvcachedEnvironment } from './kvcached.js';
import { sumOf } from './prometheus-text.js';

const PORT = 30_000;

/**
 * SGLang under kvcached. It sleeps by giving its memory back (`--enable-memory-saver`) and has no question for whether it
 * does; it asks for its key everywhere but at `/health` and `/metrics`.
 */
export const sglang: EngineAdapter = {
  engine: 'sglang',
  process: sglangProcess,
  health: { method: 'GET', path: '/health' },
  models: { method: 'GET', path: '/v1/models' },
  metrics: { method: 'GET', path: '/metrics' },
  readLoad,
  sleep: { method: 'POST', path: '/release_memory_occupation', body: {} },
  wake: { method: 'POST', path: '/resume_memory_occupation', body: {} },
  sleeping: undefined,
  readSleeping: () => undefined,
};

function sglangProcess(launch: EngineLaunch): EngineProcess {
  const { tensor, pipeline } = launch.parallel;
  return {
    command: [
      ...['python3', '-m', 'sglang.launch_server'],
      ...['--model-path', launch.modelPath, '--served-model-name', launch.modelName],
      ...['--host', '0.0.0.0', '--port', String(PORT)],
      ...['--enable-metrics', '--enable-memory-saver', '--api-key', launch.apiKey],
      ...(tensor > 1 ? ['--tp-size', String(tensor)] : []),
      ...(pipeline > 1 ? ['--pp-size', String(pipeline)] : []),
      ...launch.args,
    ],
    environment: { ...launch.environment, ...kvcachedEnvironment(launch) },
    port: PORT,
  };
}

/** A request is counted when it ends. */
function readLoad(text: string): EngineLoad | undefined {
  const running = sumOf(text, 'sglang:num_running_reqs');
  const waiting = sumOf(text, 'sglang:num_queue_reqs');
  if (running === undefined || waiting === undefined) return undefined;
  return { running, waiting, completed: sumOf(text, 'sglang:num_requests_total') ?? 0 };
}
