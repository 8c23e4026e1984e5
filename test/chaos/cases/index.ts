import type { ChaosCase } from '../support/chaos-case.js';
import { apiAndStorageCases } from './api-and-storage.js';
import { cancellationCases } from './cancellations.js';
import { controlWorkerCases } from './control-worker.js';
import { deploymentCases } from './deployments.js';
import { dockerCases } from './docker.js';
import { durableTimerCases } from './durable-timers.js';
import { engineCases } from './engines.js';
import { failedStartCases } from './failed-starts.js';
import { leavingCases } from './leaving.js';
import { modelCases } from './models.js';
import { modelOutageCases } from './models-outages.js';
import { modelPoolCases } from './models-pools.js';
import { modelStormCases } from './models-storm.js';
import { nodeAgentCases } from './node-agent.js';
import { supervisorCases } from './supervisor.js';
import { workersUnderLoadCases } from './workers-under-load.js';

export const CASES: readonly ChaosCase[] = [
  ...controlWorkerCases,
  ...nodeAgentCases,
  ...engineCases,
  ...apiAndStorageCases,
  ...supervisorCases,
  ...failedStartCases,
  ...cancellationCases,
  ...workersUnderLoadCases,
  ...durableTimerCases,
  ...dockerCases,
  ...leavingCases,
  ...modelCases,
  ...modelOutageCases,
  ...modelPoolCases,
  ...modelStormCases,
  ...deploymentCases,
];
