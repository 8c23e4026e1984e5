import type { Engine } from '../contract/index.js';

/** An argument that is Berth's to give, and what the claim has in its place. */
export interface RefusedArg {
  /** As it was given, without a value. */
  readonly arg: string;
  readonly message: string;
}

const PER_GPU = 'KV memory follows from perGpu and the limits; it is not given as a share of the GPU';
const PLACE = 'the node gives the engine its address';
const NAME = 'the model is served under the name of its claim';
const MODEL = 'the model follows from artifactUrl';
const PARALLEL = 'parallel sizes are the `parallel` of the claim';
const KEY = 'each engine has a key of its own, which the gateway sends';
const SLEEP = 'engines can always sleep';
const KV = 'the KV cache is kvcached’s, under its limit';
const RUN = 'it would change what runs, or whom it obeys';

/** Without the dashes, in the long form with `-`. */
const OWNED: Readonly<Record<Engine, Readonly<Record<string, string>>>> = {
  vllm: {
    'gpu-memory-utilization': PER_GPU,
    'kv-cache-memory-bytes': PER_GPU,
    'num-gpu-blocks-override': KV,
    'kv-offloading-size': KV,
    'kv-transfer-config': KV,
    'cpu-offload-gb': 'weights stay on the GPU, as maximumFootprint counts them',
    host: PLACE,
    port: PLACE,
    uds: PLACE,
    'root-path': PLACE,
    'api-server-count': PLACE,
    headless: PLACE,
    ssl: PLACE,
    'ssl-keyfile': PLACE,
    'ssl-certfile': PLACE,
    'served-model-name': NAME,
    model: MODEL,
    config: RUN,
    'api-key': KEY,
    middleware: RUN,
    'enable-sleep-mode': SLEEP,
    'no-enable-sleep-mode': SLEEP,
    'tensor-parallel-size': PARALLEL,
    tp: PARALLEL,
    'pipeline-parallel-size': PARALLEL,
    pp: PARALLEL,
    'data-parallel-size': PARALLEL,
    dp: PARALLEL,
    'data-parallel-size-local': PARALLEL,
    'distributed-executor-backend': PARALLEL,
    nnodes: PARALLEL,
    'node-rank': PARALLEL,
    'master-addr': PARALLEL,
    'master-port': PARALLEL,
  },
  sglang: {
    'mem-fraction-static': PER_GPU,
    'max-total-tokens': KV,
    'cpu-offload-gb': 'weights stay on the GPU, as maximumFootprint counts them',
    host: PLACE,
    port: PLACE,
    'grpc-mode': PLACE,
    'served-model-name': NAME,
    model: MODEL,
    'model-path': MODEL,
    config: RUN,
    'api-key': KEY,
    'admin-api-key': KEY,
    'enable-memory-saver': SLEEP,
    'enable-metrics': 'metrics are always on',
    'tp-size': PARALLEL,
    tp: PARALLEL,
    'tensor-parallel-size': PARALLEL,
    'pp-size': PARALLEL,
    pp: PARALLEL,
    'pipeline-parallel-size': PARALLEL,
    'dp-size': PARALLEL,
    dp: PARALLEL,
    'data-parallel-size': PARALLEL,
    nnodes: PARALLEL,
    'node-rank': PARALLEL,
    'dist-init-addr': PARALLEL,
    'base-gpu-id': PARALLEL,
  },
};

/** vLLM's short forms (`-tp 2`); a parser takes `-tp2` and `-tp=2` for the same. */
const SHORT = /^-(tp|pp|dp|n|r)(?=[\d=]|$)/;
const SHORT_NAMES: Readonly<Record<string, string>> = { n: 'nnodes', r: 'node-rank' };

/**
 * The arguments of a claim that are Berth's to give, in their order; none: all may stand. Argument parsers take `_` for `-`,
 * and any beginning that is unambiguous for the whole name, so these are refused, too.
 */
export function refuseEngineArgs(engine: Engine, args: readonly string[]): readonly RefusedArg[] {
  const refused: RefusedArg[] = [];
  for (const given of args) {
    const owned = ownedBy(OWNED[engine], given);
    if (owned !== undefined) refused.push(owned);
  }
  return refused;
}

function ownedBy(owned: Readonly<Record<string, string>>, given: string): RefusedArg | undefined {
  const short = SHORT.exec(given)?.[1];
  if (short !== undefined) return refusal(owned, `-${short}`, SHORT_NAMES[short] ?? short);
  if (!given.startsWith('--')) return undefined;
  const [arg = ''] = given.split('=', 1);
  const name = arg.slice(2).replaceAll('_', '-').toLowerCase();
  return refusal(owned, arg, nameOf(owned, name));
}

/** `compilation-config.level` is a field of an option. `--gpu-mem` stands for the one option that begins so. */
function nameOf(owned: Readonly<Record<string, string>>, given: string): string | undefined {
  const [name = ''] = given.split('.', 1);
  if (Object.hasOwn(owned, name)) return name;
  return Object.keys(owned).find((known) => name.length >= ABBREVIATION_MIN && known.startsWith(name));
}

/** Shorter ones are ambiguous in every version of both engines; argparse refuses them itself. */
const ABBREVIATION_MIN = 5;

function refusal(owned: Readonly<Record<string, string>>, arg: string, name: string | undefined) {
  const message = name === undefined || !Object.hasOwn(owned, name) ? undefined : owned[name];
  return message === undefined ? undefined : { arg, message: `${arg} is not the claim's: ${message}` };
}
