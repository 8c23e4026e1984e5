import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Session } from '../../contract/index.js';
import { Client, hasEnded } from '../../sdk/index.js';
import { endText } from '../attached.js';
import { PROCESS_STREAMS, patientFetch } from '../command-context.js';
import { bringPeople } from '../demo/people.js';
import { followSession } from '../follow.js';
import { reportError } from '../report-error.js';
import { resolveTarget } from '../target.js';
import { timelineText } from './timeline.js';

/** Of the project: this file is bundled into `dist`. */
const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FILES = [
  ['penguins.json', join(ROOT, 'node_modules', 'vega-datasets', 'data', 'penguins.json')],
  ['train.py', join(ROOT, 'infra', 'quickstart', 'train.py')],
] as const;
const FOLDER = 'penguins';
const PROJECT = 'quickstart';
const USER = 'ada';
const IMAGE = 'berth/python:test';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The main job, whole: user, data, training on two GPUs, model, timeline. Gives the exit code. */
export async function runQuickstart(): Promise<number> {
  try {
    await quickstart();
    return 0;
  } catch (error) {
    const { exitCode, text } = reportError(error);
    PROCESS_STREAMS.stderr(`${text}\n`);
    return exitCode === 0 ? 1 : exitCode;
  }
}

async function quickstart(): Promise<void> {
  const fetch = await patientFetch();
  const target = resolveTarget({}, { env: process.env, cwd: process.cwd() });
  const clientOf = async (token: string): Promise<Client> => new Client({ baseUrl: target.url, token, fetch });
  const admin = await clientOf(target.token);
  const persons = [{ name: USER, projects: [PROJECT] }];
  const { clients, leave } = await bringPeople({ admin, clientOf }, persons);
  const ada = clients[USER] ?? admin;
  try {
    say(`1. user ${USER} in project ${PROJECT}, with a key of her own`);
    await uploadFiles(ada);
    const session = await train(ada);
    const model = await downloadModel(ada);
    say(`4. model.json: accuracy ${(model.accuracy * 100).toFixed(1)} % on ${model.heldOutRows} held-out rows`);
    say(`   trained on ${model.devices || 'no named device'}, data sha256 ${model.dataSha256.slice(0, 12)}…`);
    say(`5. timeline of session ${session.name}`);
    say(timelineText(await ada.sessions.history(session.id).toArray()));
    await tellNext(session, target.url);
  } finally {
    await leave();
  }
}

async function uploadFiles(client: Client): Promise<void> {
  const open = await client.folders.list().toArray();
  if (!open.some(({ name }) => name === FOLDER)) await client.folders.create({ name: FOLDER, project: PROJECT });
  for (const [path, file] of FILES) {
    const source = () => createReadStream(file) as AsyncIterable<Uint8Array>;
    const { bytes, sha256 } = await client.folders.putFile({ folder: FOLDER, path }, source);
    say(`2. uploaded ${path}: ${bytes} bytes, sha256 ${sha256.slice(0, 12)}…`);
  }
}

/** Two whole GPUs, and the folder where the script, the data and the model lie. Throws when the training fails. */
async function train(client: Client): Promise<Session> {
  const gib = 2 ** 30;
  const session = await client.sessions.create({
    name: `penguins-${Date.now().toString(36)}`,
    kind: 'batch',
    project: PROJECT,
    image: IMAGE,
    command: ['python3', '/data/train.py'],
    kernels: [{ slots: { cpuMilli: 1000, memoryBytes: gib / 2, gpuCount: 2 } }],
    mounts: [{ folder: FOLDER, target: '/data' }],
    maxRuntimeSeconds: 600,
  });
  say(`3. session ${session.name}: 2 GPUs, 1 CPU, 512 MiB`);
  const ended = await followSession({ client, session: session.id, signal: AbortSignal.timeout(900_000) });
  if (!hasEnded(ended) || ended.result !== 'success') {
    throw new Error(`the training did not succeed: ${endText(ended)}; look with: berth history ${ended.name}`);
  }
  return ended;
}

interface Model {
  readonly accuracy: number;
  readonly heldOutRows: number;
  readonly dataSha256: string;
  readonly devices: string;
}

/** The bytes are checked on the way; the model names the data that it learned from, which must be ours. */
async function downloadModel(client: Client): Promise<Model> {
  const bytes = await client.folders.readFile({ folder: FOLDER, path: 'model.json' });
  const model = JSON.parse(Buffer.from(bytes).toString()) as Model;
  const data = await client.folders.readFile({ folder: FOLDER, path: 'penguins.json' });
  const sha256 = createHash('sha256').update(data).digest('hex');
  if (model.dataSha256 !== sha256) throw new Error(`the model learned from other data: ${model.dataSha256}`);
  if (!(model.accuracy > 0.9)) throw new Error(`an accuracy of ${model.accuracy} is too low for this data`);
  const target = join(ROOT, 'dist', 'quickstart', 'model.json');
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, bytes);
  return model;
}

async function tellNext(session: Session, url: string): Promise<void> {
  const { readTemporalUi } = await import('./temporal-ui.js');
  const temporal = readTemporalUi(process.env);
  say('6. where to look');
  say(`   API docs     ${url}/docs`);
  if (temporal !== undefined) say(`   Temporal UI  ${temporal}`);
  say('   the model    dist/quickstart/model.json');
  say('7. what to try next');
  for (const command of [
    `why ${session.name}`,
    'ps -a',
    'run --gpus 1 berth/python:test -- python3 -c "print(6 * 7)"',
    'demo queue',
    'demo bob',
    'down',
  ]) {
    say(`   npx berth ${command}`);
  }
}
