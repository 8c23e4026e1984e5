import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface DeploymentMetrics {
  /** `deployment` is one that exists and that the client may use, or '': clients cannot make labels. */
  answered(deployment: string, status: number, seconds: number): void;
  firstByte(deployment: string, seconds: number): void;
}

const SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** `inFlight` is asked at each look. */
export function deploymentMetrics(registry: Registry, inFlight: () => number): DeploymentMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'berth_deployment_requests_total',
    help: 'requests and upgrades for endpoints by what was answered; 499: the client left',
    labelNames: ['deployment', 'code'],
    registers,
  });
  const seconds = new Histogram({
    name: 'berth_deployment_request_seconds',
    help: 'from the head of a request to the end of its answer',
    labelNames: ['deployment'],
    buckets: SECONDS,
    registers,
  });
  const firstByte = new Histogram({
    name: 'berth_deployment_first_byte_seconds',
    help: 'from the head of a request to the head of the replica’s answer',
    labelNames: ['deployment'],
    buckets: SECONDS,
    registers,
  });
  new Gauge({
    name: 'berth_deployment_requests_in_flight',
    help: 'under way to replicas, also by model name',
    registers,
    collect() {
      this.set(inFlight());
    },
  });
  return {
    answered(deployment, status, took) {
      requests.inc({ deployment, code: status });
      seconds.observe({ deployment }, took);
    },
    firstByte: (deployment, took) => firstByte.observe({ deployment }, took),
  };
}
