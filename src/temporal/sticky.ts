import { type Connection, isGrpcServiceError } from '@temporalio/client';

const NOT_FOUND = 5;

/**
 * The next task of each workflow goes to whichever worker is there, not first to the one that had the last: if that one is dead the
 * task would wait for `stickyQueueScheduleToStartTimeout`. A worker that lives replays it, in some 30 ms. Who does not run is no error.
 */
export async function forgetLastWorker(
  { workflowService }: Connection,
  namespace: string,
  workflowIds: readonly string[],
): Promise<void> {
  for (const workflowId of workflowIds) {
    await workflowService.resetStickyTaskQueue({ namespace, execution: { workflowId } }).catch((error: unknown) => {
      if (!isGrpcServiceError(error) || Number(error.code) !== NOT_FOUND) throw error;
    });
  }
}
