import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Budget, BudgetExplanation, QueueEntry, Session, Why } from '../../src/contract/index.js';
import { pass, runningSession } from './placed.js';
import { GIB, readyNode, session, startTestApi, type TestApi } from './support.js';

let api: TestApi;
const keys: Record<string, string> = {};
type Answer = Awaited<ReturnType<TestApi['call']>>;
const as = (
  who: string,
  method: string,
  url: string,
  body?: object,
  headers?: Record<string, string>,
): Promise<Answer> => api.call(keys[who] ?? '', method, url, body, headers);
const budget = async (who: string, path: string): Promise<Budget> =>
  (await as(who, 'GET', `/v1/budgets/${path.replaceAll('/', '~')}`)).json<Budget>();
const create = (who: string, body: object, headers?: Record<string, string>) =>
  as(who, 'POST', '/v1/budgets', body, headers);

beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  keys['ann'] = await api.user('ann');
  keys['bob'] = await api.user('bob');
  keys['dora'] = await api.user('dora', { role: 'domain-admin' });
  keys['eve'] = await api.user('eve', { domain: 'elsewhere' });
  keys['admin'] = api.adminKey;
  await as('admin', 'PATCH', '/v1/groups/default', { policy: { order: 'fair-share' } });
  const made = await create('admin', { name: 'research', domain: 'default', weight: 70, managers: ['default/ann'] });
  if (made.statusCode !== 201) throw new Error(made.body);
  await create('ann', { name: 'nlp', parent: 'research', weight: 3, projects: ['default/default-work'] });
  await create('ann', { name: 'vision', parent: 'research', projects: ['default/default-work'] });
  await create('admin', { name: 'foreign', domain: 'elsewhere', weight: 30, projects: ['elsewhere/elsewhere-work'] });
  await create('admin', { name: 'lab', parent: 'foreign', domain: 'elsewhere' });
});
afterAll(() => api.close());

describe('the tree', () => {
  test('lists parents before children with claims, and of other domains the top alone, without its people', async () => {
    const paths = async (who: string) =>
      (await as(who, 'GET', '/v1/budgets')).json<{ items: Budget[] }>().items.map(({ path }) => path);
    expect(await paths('bob')).toEqual(['root', 'foreign', 'research', 'research/nlp', 'research/vision']);
    expect(await paths('eve')).toEqual(['root', 'foreign', 'research']);
    expect((await budget('bob', 'research/nlp')).use).toMatchObject({ claim: 0.7 * 0.75, usedGpuSeconds: 0, ratio: 0 });
    expect((await budget('bob', 'foreign')).projects).toEqual([]);
    expect((await budget('eve', 'foreign')).projects).toEqual(['elsewhere/elsewhere-work']);
    const pages: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { items: Budget[]; nextCursor: string | null } = (
        await as('bob', 'GET', `/v1/budgets?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
      ).json();
      pages.push(...page.items.map(({ path }) => path));
      cursor = page.nextCursor;
    }
    expect(pages).toEqual(await paths('bob'));
    expect((await as('bob', 'GET', '/v1/budgets?below=research~nlp')).json().items).toHaveLength(1);
  });

  const rights: [title: string, who: string, method: string, path: string, body: object, status: number][] = [
    ['a user weighs nothing', 'bob', 'PATCH', 'research~nlp', { weight: 9 }, 403],
    ['a manager does not weigh his own', 'ann', 'PATCH', 'research', { weight: 9 }, 403],
    ["a domain's admin does not weigh its top", 'dora', 'PATCH', 'research', { weight: 9 }, 403],
    ["a stranger finds no budget below another's top", 'eve', 'PATCH', 'research~nlp', { weight: 9 }, 404],
    ['a stranger closes nothing', 'eve', 'DELETE', 'research', {}, 403],
    ['nobody but operators sets the factors', 'dora', 'PUT', '', {}, 403],
    ['a budget that is not there', 'admin', 'PATCH', 'research~none', { weight: 1 }, 404],
    ['a cycle', 'admin', 'PATCH', 'research', { parent: 'research/nlp' }, 400],
    ['another domain', 'admin', 'PATCH', 'research~nlp', { parent: 'foreign' }, 400],
  ];
  test.each(rights)('%s', async (_title, who, method, path, body, status) => {
    const url = path === '' ? '/v1/budget-settings' : `/v1/budgets/${path}`;
    const answer = await as(who, method, url, method === 'DELETE' ? undefined : body);
    expect([answer.statusCode, answer.body]).toEqual([status, answer.body]);
  });

  test('is changed by who read it last, kicks the groups that order by it, and every change is kept with its author', async () => {
    const { etag } = await budget('ann', 'research/nlp');
    const kicks = api.door.kicks.length;
    const changed = await as('ann', 'PATCH', '/v1/budgets/research~nlp', { weight: 4 }, { 'if-match': `"${etag}"` });
    expect([changed.statusCode, changed.json<Budget>().weight]).toEqual([200, 4]);
    expect(changed.headers['etag']).not.toBe(`"${etag}"`);
    expect(api.door.kicks.length).toBeGreaterThanOrEqual(kicks);
    const late = await as('ann', 'PATCH', '/v1/budgets/research~nlp', { weight: 5 }, { 'if-match': `"${etag}"` });
    expect([late.statusCode, late.json().code]).toEqual([412, 'stale']);
    await as('dora', 'PATCH', '/v1/budgets/research~nlp', { weight: 3 });
    const { items } = (await as('bob', 'GET', '/v1/budgets/research~nlp/changes')).json();
    expect(items.slice(0, 2)).toMatchObject([
      { actor: 'dora', field: 'weight', before: 4, after: 3, budget: 'research/nlp' },
      { actor: 'ann', field: 'weight', before: 3, after: 4 },
    ]);
    const audit = (await as('admin', 'GET', '/v1/audit?limit=1')).json();
    expect(audit.items[0]).toMatchObject({ actor: 'dora', action: 'patchBudget', data: { weight: 3 } });
  });

  test('a budget is created once for a key, a dry run creates none, and a closed one frees its claim', async () => {
    const wanted = { name: 'speech', parent: 'research', weight: 4 };
    const dry = await create('bob', wanted);
    expect(dry.statusCode).toBe(403);
    expect((await as('ann', 'POST', '/v1/budgets?dryRun=true', wanted)).json()).toMatchObject({ dryRun: true });
    expect((await as('bob', 'POST', '/v1/budgets?dryRun=true', wanted)).statusCode).toBe(403);
    const key = { 'idempotency-key': 'speech-1' };
    const [first, second] = [await create('ann', wanted, key), await create('ann', wanted, key)];
    expect([first.statusCode, second.statusCode, second.json<Budget>().id]).toEqual([
      201,
      201,
      first.json<Budget>().id,
    ]);
    expect((await create('ann', wanted)).json()).toMatchObject({ code: 'conflict', errors: [{ pointer: '/name' }] });
    expect((await budget('ann', 'research/nlp')).use.claim).toBeCloseTo((0.7 * 3) / 8);
    for (let times = 0; times < 2; times += 1) {
      const closed = await as('ann', 'DELETE', '/v1/budgets/research~speech');
      expect([closed.statusCode, closed.json<Budget>().state]).toEqual([200, 'closed']);
    }
    expect((await budget('ann', 'research/nlp')).use.claim).toBeCloseTo(0.7 * 0.75);
  });

  test('tells its history in full pages of what may be seen, each line once', async () => {
    const pagesOf = async (who: string) => {
      const pages: string[][] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const next: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const page = (await as(who, 'GET', `/v1/budgets/root/changes?limit=2${next}`)).json<{
          items: { budget: string; field: string }[];
          nextCursor: string | null;
        }>();
        pages.push(page.items.map(({ budget: path, field }) => `${path} ${field}`));
        cursor = page.nextCursor;
      }
      return pages;
    };
    await as('admin', 'PATCH', '/v1/budgets/foreign', { weight: 31 });
    await as('admin', 'PATCH', '/v1/budgets/foreign', { weight: 30 });
    const eve = await pagesOf('eve');
    expect(eve.map(({ length }) => length)).toEqual([2, 1]);
    expect(eve.flat()).toEqual(['foreign weight', 'foreign weight', 'foreign created']);
    const all = (await pagesOf('admin')).flat();
    const bob = await pagesOf('bob');
    expect(bob.slice(0, -1).filter(({ length }) => length < 2)).toEqual([]);
    expect(bob.flat()).toEqual(all.filter((line) => !line.startsWith('foreign') || line === 'foreign weight'));
  });

  test('has settings that an operator sets, on the version that was read', async () => {
    const { etag, ...settings } = (await as('bob', 'GET', '/v1/budget-settings')).json();
    const changed = { ...settings, factors: { 'sim-24': 2 } };
    const set = await as('admin', 'PUT', '/v1/budget-settings', changed, { 'if-match': `"${etag}"` });
    expect([set.statusCode, set.json().factors]).toEqual([200, { 'sim-24': 2 }]);
    const late = await as('admin', 'PUT', '/v1/budget-settings', settings, { 'if-match': `"${etag}"` });
    expect(late.statusCode).toBe(412);
    expect((await as('admin', 'PUT', '/v1/budget-settings', settings)).statusCode).toBe(200);
  });
});

const HOUR = 3600;
const gpus = (gpuCount: number) => ({ kernels: [{ slots: { cpuMilli: 100, memoryBytes: GIB, gpuCount } }] });
describe('a submission', () => {
  const refusals: [title: string, body: object, status: number, pointer: string, message: RegExp, hint: RegExp][] = [
    [
      'above all that its budget has allocated, with the largest minimum runtime',
      { ...gpus(4), budget: 'research/vision', minRuntimeSeconds: 48 * HOUR },
      403,
      '/minRuntimeSeconds',
      /4 GPUs for 48 h are 192 GPU-h, research\/vision has 117.6 GPU-h allocated in 7 d: the largest minimum runtime is 29.4 h/,
      /berth run --budget research\/vision --min-runtime 29h24m/,
    ],
    [
      'without a budget for its minimum runtime',
      { minRuntimeSeconds: HOUR },
      400,
      '/budget',
      /name one of research\/nlp, research\/vision/,
      /berth run --budget research\/nlp/,
    ],
    ['to what is no leaf', { budget: 'research' }, 400, '/budget', /no leaf/, /research\/nlp/],
    [
      "to another domain's budget",
      { budget: 'foreign/lab' },
      400,
      '/budget',
      /there is no budget foreign\/lab/,
      /research/,
    ],
    ['that nobody may stop', { preemptible: false }, 400, '/preemptible', /ask for a longer one/, /berth run/],
  ];
  test.each(refusals)('%s is refused', async (_title, body, status, pointer, message, hint) => {
    const answer = await as('bob', 'POST', '/v1/sessions', session(body));
    expect([answer.statusCode, answer.json().errors[0]?.pointer]).toEqual([status, pointer]);
    expect(answer.json().detail).toMatch(message);
    expect(answer.json().hint).toMatch(hint);
    const dry = await as('bob', 'POST', '/v1/sessions?dryRun=true', session(body));
    expect(dry.json().detail ?? dry.json().message).toMatch(message);
  });

  test('is told by its answer and its dry run whether it is allocated, and what that means', async () => {
    const allocated = { ...gpus(1), budget: 'research/vision', minRuntimeSeconds: HOUR };
    const dry = (await as('bob', 'POST', '/v1/sessions?dryRun=true', session(allocated))).json();
    expect(dry).toMatchObject({ outcome: 'placed', contract: { allocated: true } });
    const made = (await as('bob', 'POST', '/v1/sessions', session(allocated))).json<Session>();
    expect(made).toMatchObject({ budget: 'research/vision', contract: dry.contract });
    expect(made.contract?.message).toMatch(/charged to research\/vision/);
    const free = (await as('bob', 'POST', '/v1/sessions', session(gpus(1)))).json<Session>();
    expect(free).toMatchObject({ budget: null, contract: { allocated: false } });
    expect(free.contract?.message).toMatch(/no minimum runtime: free, and may be stopped at any time/);
    const stop = [made, free].map(({ id }) => as('bob', 'POST', `/v1/sessions/${id}/stop`, {}));
    await Promise.all(stop);
  });
});

test('an explanation names the budgets that go first, the sessions and hours behind that, and who may stop it', async () => {
  const charged = { ...gpus(4), budget: 'research/nlp', minRuntimeSeconds: HOUR };
  const first = await runningSession(api, keys['ann'] ?? '', {
    ...charged,
    name: 'greedy',
    maxRuntimeSeconds: 2 * HOUR,
  });
  const submit = async (name: string, body: object) =>
    (await as('bob', 'POST', '/v1/sessions', session({ ...body, name }))).json<Session>();
  const second = await submit('more', charged);
  await submit('other', { ...charged, budget: 'research/vision', maxRuntimeSeconds: 2 * HOUR });
  const free = await submit('free', gpus(1));
  await pass(api);
  const explain = async (who: string, id: string): Promise<BudgetExplanation> =>
    (await as(who, 'GET', `/v1/sessions/${id}/budget`)).json<BudgetExplanation>();

  const waiting = await explain('bob', second.id);
  expect(waiting).toMatchObject({
    budget: 'research/nlp',
    allocated: true,
    position: 2,
    charges: [{ name: 'greedy' }],
  });
  expect(waiting.message).toMatch(
    /place 2 of 3 in default: below research research\/vision goes first: .*0 GPU-h for weight 1/,
  );
  const { items } = (await as('bob', 'GET', '/v1/groups/default/queue')).json<{ items: QueueEntry[] }>();
  expect(items.map(({ name }) => name)).toEqual(['other', 'more', 'free']);
  for (const { sessionId, expectedStart } of items) {
    const { eta, etaUnknownBecause } = (await as('bob', 'GET', `/v1/sessions/${sessionId}/why`)).json<Why>();
    expect([expectedStart?.at, eta?.basis ?? `unknown, because ${etaUnknownBecause}`]).toEqual([
      eta?.p90 ?? null,
      expectedStart?.basis,
    ]);
  }
  expect(items[1]?.expectedStart?.at).not.toBeNull();
  expect(waiting.ahead).toMatchObject([
    { name: 'other', because: expect.stringMatching(/research\/vision has had less/) },
  ]);
  const [, fork] = waiting.forks;
  expect(fork?.siblings.map(({ budget: path, isOnPath }) => [path, isOnPath])).toEqual([
    ['research/vision', false],
    ['research/nlp', true],
  ]);
  const ofNlp = fork?.siblings[1];
  expect((ofNlp?.usedGpuSeconds ?? 0) + (ofNlp?.committedGpuSeconds ?? 0)).toBeGreaterThan(4 * HOUR - 1);

  expect(await explain('bob', free.id)).toMatchObject({ allocated: false, position: 3, forks: [], ahead: [{}, {}] });
  const runs = await explain('ann', first.id);
  expect(runs).toMatchObject({ position: null, protectedUntil: first.protectedUntil });
  expect(runs.mayBeStoppedBy).toMatch(/^nobody until .*; then allocated requests .*: now research\/vision/);
  expect((await as('eve', 'GET', `/v1/sessions/${first.id}/budget`)).statusCode).toBe(404);
  const closing = await as('ann', 'DELETE', '/v1/budgets/research~nlp');
  expect(closing.json()).toMatchObject({ code: 'conflict', hint: expect.stringMatching(/berth stop/) });
});
