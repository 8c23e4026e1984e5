/** Names of queues and workflows: the one place that spells them. */
export const CONTROL_QUEUE = 'control';
export const nodeQueue = (node: string): string => `node/${node}`;

export const sessionWorkflowId = (sessionId: string): string => `session/${sessionId}`;
export const groupWorkflowId = (group: string): string => `group/${group}`;
export const nodeWorkflowId = (node: string): string => `node/${node}`;

/** One for each set of images, by its hash: asking twice while it is under way is asking once. */
export const warmWorkflowId = (node: string, imagesHash: string): string => `node-warm/${node}/${imagesHash}`;

export const poolWorkflowId = (pool: string): string => `pool/${pool}`;
export const modelWorkflowId = (claimId: string): string => `model/${claimId}`;
export const deploymentWorkflowId = (deploymentId: string): string => `deployment/${deploymentId}`;

export const WORKFLOW_TYPES = {
  session: 'sessionWorkflow',
  group: 'groupWorkflow',
  node: 'nodeWorkflow',
  warm: 'warmWorkflow',
  pool: 'poolWorkflow',
  model: 'modelWorkflow',
  deployment: 'deploymentWorkflow',
} as const;

/** Workers of the control plane are versioned under this name; node agents are not versioned. */
export const DEPLOYMENT_NAME = 'berth-control';

/**
 * Every search attribute of every workflow, once. SQL visibility holds ten keywords and three of each other type, so there
 * are few, and `node` is a list. Values are cut by `searchValue`: Postgres visibility retries a longer one for ever.
 */
export const SEARCH_ATTRIBUTES = {
  BerthStatus: 'Keyword',
  BerthReason: 'Keyword',
  BerthUser: 'Keyword',
  BerthProject: 'Keyword',
  BerthGroup: 'Keyword',
  BerthNode: 'KeywordList',
} as const;
export type SearchAttributeName = keyof typeof SEARCH_ATTRIBUTES;

export const SEARCH_VALUE_LENGTH_MAX = 255;
export const searchValue = (text: string): string => text.slice(0, SEARCH_VALUE_LENGTH_MAX);
