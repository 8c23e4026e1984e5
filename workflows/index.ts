export { groupWorkflow } from './group.js';
export { nodeWorkflow } from './node.js';
export { sessionWorkflow } from './session.js';
export { warmWorkflow } from './warm.js';
