import { setCurrentDetails, setWorkflowOptions } from '@temporalio/workflow';
import { warmOn } from './activity-table.js';
import { show } from './search.js';

export interface WarmInput {
  readonly node: string;
  readonly images: readonly string[];
}

/** Brings images to one node ahead of demand. It fails when the node cannot get one of them: Temporal shows which, and why. */
export async function warmWorkflow({ node, images }: WarmInput): Promise<string> {
  show({ status: 'WARMING', nodes: [node] });
  setCurrentDetails([`Brings to node \`${node}\`:`, ...images.map((image) => `- \`${image}\``)].join('\n'));
  try {
    await warmOn(node)({ images });
  } catch (error) {
    show({ status: 'FAILED' });
    throw error;
  }
  show({ status: 'WARM' });
  return `${images.length} images on ${node}`;
}

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, warmWorkflow);
