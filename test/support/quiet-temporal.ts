import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';

/** Temporal's core would print each retry of a test that takes its server away, and each history that is meant not to fit. */
const quiet = makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' });
Runtime.install({
  logger: new DefaultLogger('WARN', () => undefined),
  telemetryOptions: { logging: { filter: quiet, forward: {} } },
  shutdownSignals: [],
});
