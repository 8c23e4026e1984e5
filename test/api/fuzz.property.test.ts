import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { arbitraryOf, type JsonSchema, naughty } from './schema-arbitrary.js';
import { readyNode, session, startTestApi, type TestApi } from './support.js';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: JsonSchema;
}
interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}
const document = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
};
const resolve = (ref: string): JsonSchema => document.components.schemas[ref.split('/').at(-1) ?? ''] ?? {};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    id: operation.operationId,
    path,
    method: method.toUpperCase(),
    operation,
  })),
);

const RUNS = Number(process.env['BERTH_FUZZ_RUNS'] ?? 25);
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  await api.user('bob');
  const { id } = (await api.call(api.adminKey, 'POST', '/v1/sessions', session({ name: 'ended' }))).json();
  await api.call(api.adminKey, 'POST', `/v1/sessions/${id}/stop`, {});
});
afterAll(() => api.close());

/** Names that are there (no session but one that has ended: a live one's streams do not end), and names that cannot be. */
const PATH_WORDS = [
  'ended',
  'default',
  'node-1',
  'bob',
  'user',
  'project',
  'default~default',
  'admin',
  'krn_01m8p400000000000000000000',
  '1',
  '..',
  '%00',
  '%2e%2e%2f',
  '%ff',
  'A B',
  '💥',
  'x'.repeat(400),
  "'--",
  '0',
  '-1',
  '99999999999999999999',
];

interface Shot {
  readonly url: string;
  readonly body: unknown;
  readonly raw: string | null;
}
function shots({ path, operation }: (typeof operations)[number]): fc.Arbitrary<Shot> {
  const parameters = operation.parameters ?? [];
  const names = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  const paths = fc.record(Object.fromEntries(names.map((name) => [name, fc.constantFrom(...PATH_WORDS)])));
  const queries = parameters.filter((one) => one.in === 'query' && one.name !== 'timeoutSeconds');
  const query = fc.record(
    Object.fromEntries(queries.map(({ name, schema }) => [name, fc.oneof(arbitraryOf(schema, resolve), naughty)])),
    { requiredKeys: [] },
  );
  const schema = operation.requestBody?.content['application/json']?.schema;
  const body = schema === undefined ? fc.constant(undefined) : arbitraryOf(schema, resolve);
  const raw = fc.option(
    fc.constantFrom('{', '[1,', '"', 'nul', '{"a":1e999}', '{"__proto__":1}', '\ufeff{}', '{"a":"\\u0000"}'),
    { freq: 8 },
  );
  return fc.record({ paths, query, body, raw: schema === undefined ? fc.constant(null) : raw }).map((made) => {
    const where = path.replace(
      /\{(\w+)\}/g,
      (_whole, name: string) => (made.paths as Record<string, string>)[name] ?? '',
    );
    const asked = Object.entries(made.query as Record<string, unknown>)
      .map(
        ([name, value]) =>
          `${name}=${encodeURIComponent((typeof value === 'string' ? value : JSON.stringify(value)).replace(/\p{Cs}/gu, '?'))}`,
      )
      .join('&');
    return {
      url:
        asked === '' ? encodeURI(where).replaceAll('%25', '%') : `${encodeURI(where).replaceAll('%25', '%')}?${asked}`,
      body: made.body,
      raw: made.raw,
    };
  });
}

test.each(operations)('$id never answers 5xx, and refuses with a problem', { timeout: 60_000 }, async (target) => {
  const isOfAgents =
    target.path.startsWith('/v1/nodes/{name}/') &&
    /register|reconcile|reports|kernels|engine-orders|member-looks/.test(target.path);
  const key = isOfAgents ? api.nodeToken : api.adminKey;
  await fc.assert(
    fc.asyncProperty(shots(target), async ({ url, body, raw }) => {
      const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
      const headers: Record<string, string> = payload === undefined ? {} : { 'content-type': 'application/json' };
      const answer = await api.call(key, target.method, url, payload, headers);
      const told = answer.statusCode >= 400 ? answer.body : '';
      expect(answer.statusCode, `${target.method} ${url} ${payload ?? ''} → ${told}`).toBeLessThan(500);
      if (answer.statusCode < 400) return;
      expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
      expect(answer.json()).toMatchObject({ status: answer.statusCode, instance: answer.headers['x-request-id'] });
    }),
    { numRuns: RUNS, interruptAfterTimeLimit: 30_000 },
  );
});
