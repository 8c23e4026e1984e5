import type { Command } from 'commander';
import { registerPoolChange } from './pool/change.js';
import { registerPoolCreate } from './pool/create.js';
import { registerPoolRead } from './pool/read.js';
import { registerPoolRemove } from './pool/remove.js';
import { registerPoolSnapshot } from './pool/snapshot.js';

const EXAMPLES = `
Examples:
  berth pool create chat --image IMAGE --gpus 1 --mem 64Gi --members 2 --sleep-after 10m --release
  berth pool scale chat 4
  berth pool get chat
  berth gpu chat
`;

const VERBS = [registerPoolCreate, registerPoolRead, registerPoolChange, registerPoolRemove, registerPoolSnapshot];

export function registerPool(program: Command): void {
  const pool = program
    .command('pool')
    .summary('warm pools of GPUs that models are claimed from')
    .description(
      'Warm pools: members that hold their GPUs, ready for the engines of models. Operators make and change them.',
    )
    .addHelpText('after', EXAMPLES);
  for (const register of VERBS) register(pool);
}
