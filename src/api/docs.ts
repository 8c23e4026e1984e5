import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { PROBLEMS } from '../contract/index.js';
import { pruneSchemas } from './prune-schemas.js';

/** Names a schema's input `X` and its output `XOutput` only where the two differ; the unused of each pair is dropped. */
const transformObject = createJsonSchemaTransformObject({});

/** OpenAPI 3.1 at `/docs/json`, its page at `/docs`, the codes of errors at `/docs/errors`. */
export async function addDocs(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Berth',
        version,
        description: 'Shares GPUs between sessions: who gets which, when, for how long, and why.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'an API key' } } },
    },
    transform: createJsonSchemaTransform({}),
    transformObject: (document) => pruneSchemas(transformObject(document)),
  });
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: true });
  app.get('/docs/errors', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('text/html; charset=utf-8').serializer(String).send(errorsPage()),
  );
}

function errorsPage(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, title }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}</td></tr>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Berth: errors</title><h1>Errors</h1>
<p>Every error is an RFC 9457 problem. React to <code>code</code>; <code>detail</code> is for people.</p>
<table><tr><th>code</th><th>status</th><th>title</th></tr>${rows.join('')}</table></html>`;
}
