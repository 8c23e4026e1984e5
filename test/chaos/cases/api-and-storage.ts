import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Session } from '../../../src/contract/index.js';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ended, outcome, pause, SUCCESS, spec } from '../support/sessions.js';

/** From the request's first byte: before it is stored, while Temporal admits it, about when the answer leaves. */
const KILL_AFTER_MS = [5, 30, 80, 200] as const;

async function killedBeforeTheAnswer(berth: Berth, afterMs: number): Promise<void> {
  const name = `once-${randomUUID().slice(0, 8)}`;
  const answer = berth.client.sessions.create({ ...spec({ run: 'exit 0', gpus: 1 }), name });
  await pause(afterMs / 1000);
  await berth.kill('api');
  const session = await answer;
  expect(outcome(await ended(berth, session))).toEqual(SUCCESS);
  await berth.back('api');
  const same = (await berth.client.sessions.list().toArray()).filter((found) => found.name === name);
  expect(same.map(({ id }) => id)).toEqual([session.id]);
}

const CHUNK = new Uint8Array(256 * 1024).fill(7);

/** Slow on purpose: some seconds from first to last byte. `sent` hears each chunk. */
function slowFile(chunks: number, sent: (count: number) => void) {
  return async function* read(): AsyncGenerator<Uint8Array, void, undefined> {
    for (let count = 1; count <= chunks; count += 1) {
      yield CHUNK;
      sent(count);
      await pause(0.1);
    }
  };
}

async function storageKilled(berth: Berth): Promise<void> {
  const { client } = berth;
  const folder = await client.folders.create({ name: `cut-${randomUUID().slice(0, 8)}` });
  const file = { folder: folder.id, path: 'data/whole.bin' };
  let halfWay: () => void = () => undefined;
  const isHalfWay = new Promise<void>((resolve) => (halfWay = resolve));
  const cut = client.folders
    .putFile(
      file,
      slowFile(20, (count) => count === 10 && halfWay()),
    )
    .then(
      () => 'kept',
      () => 'cut',
    );
  await isHalfWay;
  await berth.kill('storage');
  await berth.back('storage');
  const whole = CHUNK.byteLength * 20;
  const expected = (await cut) === 'kept' ? [whole] : [];
  const files = async () =>
    (await client.folders.listFiles(folder.id, undefined)).filter(({ type }) => type === 'file');
  expect((await files()).map(({ bytes }) => bytes)).toEqual(expected);
  await client.folders.putFile(file, 'second');
  expect((await files()).map(({ path, bytes }) => [path, bytes])).toEqual([['data/whole.bin', 6]]);
  await client.folders.delete(folder.id);
}

/** All at once, past the SDK: each is answered with the session, or told to ask again. */
async function oneKey(berth: Berth): Promise<void> {
  const key = randomUUID();
  const body = JSON.stringify(spec({ run: 'sleep 1', gpus: 1, name: `key-${key.slice(0, 8)}` }));
  const send = async (): Promise<Session> => {
    for (;;) {
      const response = await fetch(`${berth.apiUrl}/v1/sessions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${berth.token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body,
      });
      if (response.ok) return (await response.json()) as Session;
      expect([409, 429, 503]).toContain(response.status);
      expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
      await pause(Number(response.headers.get('retry-after')));
    }
  };
  const answers = await Promise.all(Array.from({ length: 100 }, send));
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  const [session] = answers;
  if (session === undefined) throw new Error('no answer');
  expect(outcome(await ended(berth, session))).toEqual(SUCCESS);
  const same = (await berth.client.sessions.list().toArray()).filter(({ name }) => name === session.name);
  expect(same).toHaveLength(1);
}

export const apiAndStorageCases: readonly ChaosCase[] = [
  ...KILL_AFTER_MS.map(
    (afterMs): ChaosCase => ({
      title: `the API is killed ${afterMs} ms after a submission was sent: its retry makes one session`,
      seconds: 15,
      run: (berth) => killedBeforeTheAnswer(berth, afterMs),
    }),
  ),
  {
    title: 'the storage proxy is killed in the middle of an upload: no half file is there',
    seconds: 15,
    run: storageKilled,
  },
  { title: '100 submissions at once with one idempotency key make one session', seconds: 15, run: oneKey },
];
