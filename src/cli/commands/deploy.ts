import type { Command } from 'commander';
import { registerDeployApply } from './deploy/apply.js';
import { registerDeployChange } from './deploy/change.js';
import { registerDeployRead } from './deploy/read.js';
import { registerDeployRollout } from './deploy/rollout.js';
import { registerDeployToken } from './deploy/token.js';

const EXAMPLES = `
Examples:
  berth deploy apply -f chat.yaml --wait
  berth deploy ls
  berth deploy why chat
  berth deploy scale chat 4
  berth deploy rollout undo chat
  berth deploy token create chat app
`;

const VERBS = [
  registerDeployApply,
  registerDeployRead,
  registerDeployChange,
  registerDeployRollout,
  registerDeployToken,
];

export function registerDeploy(program: Command): void {
  const deploy = program
    .command('deploy')
    .summary('model services: replicas behind one endpoint')
    .description('Deployments: replicas that are replaced when they die, behind one endpoint, with rollouts and rules.')
    .addHelpText('after', EXAMPLES);
  for (const register of VERBS) register(deploy);
}
