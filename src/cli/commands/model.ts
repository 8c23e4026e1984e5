import type { Command } from 'commander';
import { registerModelChange } from './model/change.js';
import { registerModelClaim } from './model/claim.js';
import { registerModelKey } from './model/key.js';
import { registerModelRead } from './model/read.js';
import { registerModelRecords } from './model/records.js';

const EXAMPLES = `
Examples:
  berth model claim qwen --pool chat --artifact huggingface://Qwen/Qwen3-8B --footprint 30Gi --kv-floor 10Gi --wait
  berth model claim -f claim.yaml --wait
  berth model ls
  berth model why qwen
  berth model set qwen --kv-floor 6Gi
`;

const VERBS = [registerModelClaim, registerModelRead, registerModelChange, registerModelRecords, registerModelKey];

export function registerModel(program: Command): void {
  const model = program
    .command('model')
    .summary('models on pools: claim, look, sleep, wake, limits of keys')
    .description('Models that are claimed from warm pools and served by name at the gateway, with OpenAI’s API.')
    .addHelpText('after', EXAMPLES);
  for (const register of VERBS) register(model);
}
