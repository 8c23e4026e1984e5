import { writeFile } from 'node:fs/promises';
import { pino } from 'pino';
import { openApiDocument } from './create-api.js';

/** `npx tsx src/api/write-openapi.ts`: writes docs/openapi.json from the route table. A test checks that it was run. */
const document = await openApiDocument(pino({ level: 'silent' }), '0.1.0');
await writeFile(new URL('../../docs/openapi.json', import.meta.url), `${JSON.stringify(document, null, 2)}\n`);
