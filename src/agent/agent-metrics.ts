import { Counter, Gauge, type Registry } from 'prom-client';

export type AgentMetrics = ReturnType<typeof createAgentMetrics>;

/** What an agent did since it started; the registry is the process's own. */
export function createAgentMetrics(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name: `berth_agent_${name}_total`, help, labelNames: [...labelNames], registers });
  return {
    started: counter('kernels_started', 'Kernels whose container was started'),
    startFailures: counter('start_failures', 'Starts that failed, by cause', ['cause']),
    removed: counter('kernels_removed', 'Kernels whose container was removed'),
    exits: counter('exits', 'Exits told to the API, by whose they are', ['engine_lost']),
    reportFailures: counter('report_failures', 'Sendings of reports that were not acknowledged'),
    reconciliations: counter('reconciliations', 'Rounds of reconciliation that the API answered'),
    orphans: counter('orphans_removed', 'Containers and networks removed because nobody owns them', ['what']),
    engineCuts: counter('engine_cuts', "Times the engine's event stream was lost"),
    containers: new Gauge({
      name: 'berth_agent_containers',
      help: 'Containers of this node, at the last listing',
      registers,
    }),
  };
}
