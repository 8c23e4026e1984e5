import type { DeploymentTemplate, ReplicaPreset } from '../contract/index.js';
import { HEALTH_PRESETS } from './health-presets.js';

type Served = Pick<DeploymentTemplate, 'preset' | 'model' | 'command' | 'entrypoint' | 'port' | 'slots'>;

/** Where it serves HTTP. */
export const portOf = ({ preset, port }: Pick<Served, 'preset' | 'port'>): number =>
  port ?? (preset === undefined ? 0 : HEALTH_PRESETS[preset].port);

/** Its command is Berth's own: then vLLM is given a key that the gateway alone sends. */
export const isServedByPreset = ({ preset, model, command, entrypoint }: Served): boolean =>
  preset !== undefined && model !== undefined && command.length === 0 && entrypoint === undefined;

export const asksForKey = (template: Served): boolean => template.preset === 'vllm' && isServedByPreset(template);

/** How each engine serves a folder with model files; NIM's images bring their own model. */
const SERVES: Readonly<Record<ReplicaPreset, (to: Serving) => Command>> = {
  vllm: ({ path, name, port, gpus }) => ({
    entrypoint: ['vllm', 'serve'],
    command: [
      ...[path, '--served-model-name', name, '--host', '0.0.0.0', '--port', port],
      ...(gpus > 1 ? ['--tensor-parallel-size', String(gpus)] : []),
    ],
  }),
  sglang: ({ path, name, port, gpus }) => ({
    entrypoint: ['python3', '-m', 'sglang.launch_server'],
    command: [
      ...['--model-path', path, '--served-model-name', name, '--host', '0.0.0.0', '--port', port, '--enable-metrics'],
      ...(gpus > 1 ? ['--tp-size', String(gpus)] : []),
    ],
  }),
  tgi: ({ path, port, gpus }) => ({
    entrypoint: ['text-generation-launcher'],
    command: [
      ...['--model-id', path, '--hostname', '0.0.0.0', '--port', port],
      ...(gpus > 1 ? ['--num-shard', String(gpus)] : []),
    ],
  }),
  nim: () => ({ command: [] }),
};

interface Serving {
  readonly path: string;
  readonly name: string;
  readonly port: string;
  readonly gpus: number;
}

interface Command {
  readonly entrypoint?: readonly string[];
  readonly command: readonly string[];
}

/** What a replica runs: what its template says, else its preset on the model folder under the served name. */
export function commandOf(template: Served, servedName: string): Command {
  const { preset, model, entrypoint, command, slots } = template;
  if (preset === undefined || model === undefined || !isServedByPreset(template))
    return { ...(entrypoint === undefined ? {} : { entrypoint }), command };
  const port = String(portOf(template));
  return SERVES[preset]({ path: model.path, name: servedName, port, gpus: slots.gpuCount });
}
