export { deploymentWorkflow } from './deployment.js';
export { groupWorkflow } from './group.js';
export { modelWorkflow } from './model.js';
export { nodeWorkflow } from './node.js';
export { poolWorkflow } from './pool.js';
export { sessionWorkflow } from './session.js';
export { warmWorkflow } from './warm.js';
