import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPrometheus } from '../../src/platform/prometheus.js';

/** Answers as Prometheus does: the query names which answer is wanted. */
const ANSWERS: Readonly<Record<string, { readonly status: number; readonly body: string }>> = {
  scalar: { status: 200, body: '{"status":"success","data":{"resultType":"scalar","result":[1,"4.5"]}}' },
  vector: {
    status: 200,
    body: '{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"7"]},{"metric":{},"value":[1,"8"]}]}}',
  },
  empty: { status: 200, body: '{"status":"success","data":{"resultType":"vector","result":[]}}' },
  nan: { status: 200, body: '{"status":"success","data":{"resultType":"scalar","result":[1,"NaN"]}}' },
  matrix: { status: 200, body: '{"status":"success","data":{"resultType":"matrix","result":[]}}' },
  wrong: { status: 400, body: '{"status":"error","errorType":"bad_data","error":"parse error"}' },
  html: { status: 502, body: '<html>' },
};

let server: Server;
let url = '';
beforeAll(async () => {
  server = createServer((request, response) => {
    const asked = new URL(request.url ?? '', 'http://host');
    const answer =
      asked.pathname === '/prefix/api/v1/query' ? ANSWERS[asked.searchParams.get('query') ?? ''] : undefined;
    if (answer === undefined) return; // never answers
    response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prefix/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('a query', () => {
  test.each<[string, object]>([
    ['scalar', { value: 4.5 }],
    ['vector', { value: 7 }],
    ['empty', { missing: 'the query answers nothing' }],
    ['nan', { missing: 'the query answers no finite number' }],
    ['matrix', { missing: 'the query answers a matrix, not a number' }],
    ['wrong', { missing: 'Prometheus answered 400: parse error' }],
    ['html', { missing: 'Prometheus answered 502' }],
    ['never', { missing: 'Prometheus did not answer within 0.2 s' }],
  ])('answered as %s is a value, or missing with its reason', async (query, answer) => {
    expect(await createPrometheus({ url, timeoutMs: 200 })(query)).toEqual(answer);
  });

  test('without a Prometheus, or with one that is away, is missing', async () => {
    expect(await createPrometheus({ url: undefined })('up')).toEqual({ missing: 'BERTH_PROMETHEUS_URL is not set' });
    expect(await createPrometheus({ url: 'http://127.0.0.1:9' })('up')).toEqual({
      missing: 'Prometheus is not reachable',
    });
  });
});
