import { runQuickstart } from './run-quickstart.js';

process.exit(await runQuickstart());
