import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { helpPage } from '../../src/cli/help-page.js';
import { createProgram } from '../../src/cli/program.js';

writeFileSync(join(import.meta.dirname, '..', '..', 'docs', 'cli.md'), helpPage(createProgram()));
