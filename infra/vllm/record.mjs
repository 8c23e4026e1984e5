// Records what the real vLLM answers on each endpoint, into test/models/recorded: what the adapter and the simulated engine
// are held to where no vLLM is. Ids, times and paths of the machine are replaced.
//   node infra/vllm/record.mjs
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMain, main, PROJECT_ROOT, say } from '../setup/common.mjs';
import { serveVllm } from './serve.mjs';
import { VLLM_VERSION } from './setup.mjs';

const FOLDER = join(PROJECT_ROOT, 'test', 'models', 'recorded', `vllm-${VLLM_VERSION}`);
const messages = [{ role: 'user', content: 'hello' }];
const usage = { stream_options: { include_usage: true } };
const chat = (more) => ['POST', '/v1/chat/completions', { model: 'tiny', messages, max_tokens: 3, ...more }];
const completion = (more) => ['POST', '/v1/completions', { model: 'tiny', prompt: 'hello', max_tokens: 3, ...more }];

/** In order: later ones find the server as the ones before left it. */
const GENERATE = {
  health: ['GET', '/health'],
  version: ['GET', '/version'],
  models: ['GET', '/v1/models'],
  load: ['GET', '/load'],
  'metrics-idle': ['GET', '/metrics'],
  'is-sleeping': ['GET', '/is_sleeping'],
  chat: chat({}),
  'chat-stream': chat({ stream: true }),
  'chat-stream-usage': chat({ stream: true, ...usage }),
  'chat-stream-running-usage': chat({
    stream: true,
    stream_options: { include_usage: true, continuous_usage_stats: true },
  }),
  completion: completion({}),
  'completion-stream-usage': completion({ stream: true, ...usage }),
  'embeddings-of-a-generator': ['POST', '/v1/embeddings', { model: 'tiny', input: 'hello' }],
  'error-model': chat({ model: 'other' }),
  'error-no-messages': ['POST', '/v1/chat/completions', { model: 'tiny' }],
  'error-no-json': ['POST', '/v1/chat/completions', '{nope'],
  'error-too-long': chat({ max_tokens: 4000 }),
  'error-no-path': ['GET', '/nope'],
  'error-method': ['GET', '/v1/chat/completions'],
  'error-sleep-level': ['POST', '/sleep?level=7'],
  'error-sleep-mode': ['POST', '/sleep?mode=nope'],
  sleep: ['POST', '/sleep?level=1'],
  'sleep-again': ['POST', '/sleep?level=1'],
  'is-sleeping-asleep': ['GET', '/is_sleeping'],
  'health-asleep': ['GET', '/health'],
  'metrics-asleep': ['GET', '/metrics'],
  'wake-up': ['POST', '/wake_up'],
  'wake-up-again': ['POST', '/wake_up'],
  'is-sleeping-awake': ['GET', '/is_sleeping'],
};

const EMBED = {
  embeddings: ['POST', '/v1/embeddings', { model: 'tiny', input: 'hello' }],
  'embeddings-two': ['POST', '/v1/embeddings', { model: 'tiny', input: ['hello', 'world'] }],
  'chat-of-an-embedder': chat({}),
};

const long = (more) => [
  'POST',
  '/v1/completions',
  { model: 'tiny', prompt: 'hello', max_tokens: 240, ignore_eos: true, ...more },
];

/** What differs from run to run is replaced; floats of an embedding are cut to two. */
function normalise(text, { modelPath }) {
  return text
    .replaceAll(modelPath, '<model path>')
    .replace(/"(chatcmpl|cmpl|embd|modelperm)-[0-9a-f-]+"/g, '"$1-<id>"')
    .replace(/"created":\d+/g, '"created":0')
    .replace(/"embedding":\[[^\]]*\]/g, '"embedding":[0.5,-0.5]')
    .replace(/^(\S+_created\S*) .*$/gm, '$1 0.0');
}

/** Of metrics, the engine's own; the rest is of Python and of the HTTP framework. */
const ofEngine = (text) =>
  text
    .split('\n')
    .filter((line) => /^(# \w+ )?vllm:/.test(line))
    .join('\n');

async function ask(server, [method, path, body], apiKey = server.apiKey) {
  const response = await fetch(server.url + path, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = normalise(await response.text(), server);
  return {
    request: { method, path, ...(body === undefined ? {} : { body }) },
    response: {
      status: response.status,
      contentType: response.headers.get('content-type'),
      text: path === '/metrics' ? ofEngine(text) : text,
    },
  };
}

function keep(name, exchange) {
  writeFileSync(join(FOLDER, `${name}.json`), `${JSON.stringify(exchange, null, 2)}\n`);
}

async function recordEach(server, exchanges) {
  for (const [name, exchange] of Object.entries(exchanges)) keep(name, await ask(server, exchange));
}

/** Two run, two wait (the server takes two at a time); then a sleep ends all four. A request to a sleeper waits for the wake. */
async function recordLoad(server) {
  const inFlight = [long({}), long({ stream: true, ...usage }), long({}), long({})].map((exchange) =>
    ask(server, exchange),
  );
  await sleep(300);
  keep('metrics-busy', await ask(server, ['GET', '/metrics']));
  keep('load-busy', await ask(server, ['GET', '/load']));
  await ask(server, ['POST', '/sleep?level=1']);
  const [whole, streamed] = await Promise.all(inFlight);
  keep('completion-slept-on', whole);
  keep('completion-stream-slept-on', shortened(streamed));
  const asked = ask(server, completion({}));
  await sleep(1_000);
  keep('metrics-asked-asleep', await ask(server, ['GET', '/metrics']));
  await ask(server, ['POST', '/wake_up']);
  keep('completion-after-wake', await asked);
}

/** Of a long stream, the first event and the last four. */
function shortened(exchange) {
  const events = exchange.response.text.split('\n\n').filter((event) => event !== '');
  const text = [...events.slice(0, 1), ...events.slice(-3)].map((event) => `${event}\n\n`).join('');
  return { ...exchange, response: { ...exchange.response, text } };
}

async function record() {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const generator = await serveVllm({ args: ['--max-num-seqs', '2', '--enable-server-load-tracking'] });
  try {
    await recordEach(generator, GENERATE);
    keep('error-no-key', await ask(generator, chat({}), null));
    keep('error-wrong-key', await ask(generator, ['GET', '/v1/models'], 'wrong'));
    await recordLoad(generator);
  } finally {
    say(`vllm: ended with ${await generator.stop()}`);
  }
  const embedder = await serveVllm({ args: ['--runner', 'pooling', '--convert', 'embed'] });
  try {
    await recordEach(embedder, EMBED);
  } finally {
    say(`vllm: ended with ${await embedder.stop()}`);
  }
}

if (isMain(import.meta.url)) {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  await main(async () => {
    await record();
    say(`vllm: recorded into test/models/recorded/vllm-${VLLM_VERSION}`);
  });
}
