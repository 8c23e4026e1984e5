import { readFile } from 'node:fs/promises';
import { pino } from 'pino';
import { beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../src/api/create-api.js';
import { ROUTES } from '../../src/contract/index.js';

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, unknown>>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

let document: Document;
beforeAll(async () => {
  document = JSON.parse(JSON.stringify(await openApiDocument(pino({ level: 'silent' }), '0.1.0'))) as Document;
});

test('docs/openapi.json is what the routes say (else run: npx tsx src/api/write-openapi.ts)', async () => {
  const written = await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
  expect(JSON.parse(written)).toEqual(document);
});

test('the document is OpenAPI 3.1 with an operation for each route', () => {
  const ids = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(document.openapi).toMatch(/^3\.1/);
  expect(ids.toSorted()).toEqual(Object.keys(ROUTES).toSorted());
});

test('each reference leads somewhere, and each schema is referred to', () => {
  const text = JSON.stringify(document);
  const referred = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name));
  expect([...referred].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted());
});
