import type { SessionUsage } from '../contract/index.js';
import { formatBytes, formatCpu } from './format-amounts.js';
import { idleShort } from './idle-lines.js';
import type { Shown } from './output.js';

type Kernel = SessionUsage['kernels'][number];
type Device = Kernel['devices'][number];

/** One line of `berth top`: a kernel with its first device, or a further device of it. */
export interface UsageRow {
  readonly session: SessionUsage;
  /** Only on a kernel's first line. */
  readonly kernel: Kernel | null;
  readonly device: Device | null;
  readonly isFirst: boolean;
}

export const usageRows = (sessions: readonly SessionUsage[]): readonly UsageRow[] =>
  sessions.flatMap((session) =>
    session.kernels.flatMap((kernel, at) => {
      const [device = null, ...others] = kernel.devices;
      const first = { session, kernel, device, isFirst: at === 0 };
      return [first, ...others.map((other) => ({ session, kernel: null, device: other, isFirst: false }))];
    }),
  );

const of = (used: string, promised: string): string => `${used}/${promised}`;
const percent = (value: number | null): string => (value === null ? '?' : `${Math.round(value)}%`);

const cpuText = ({ cpuMilli, cpuMilliPromised }: Kernel): string =>
  of(cpuMilli === null ? '?' : formatCpu(Math.round(cpuMilli)), formatCpu(cpuMilliPromised));

const memoryText = (used: number | null, promised: number): string =>
  of(used === null ? '?' : formatBytes(used), formatBytes(promised));

const modelText = ({ id, model, simulated }: Device): string =>
  `${id} ${model}${simulated && !model.includes('simulated') ? ' (simulated)' : ''}`;

const requestsText = ({ requestsInFlight }: SessionUsage): string =>
  requestsInFlight === 0 ? '-' : String(requestsInFlight);

export const USAGE: Shown<UsageRow> = {
  nameOf: ({ session }) => session.name,
  idOf: ({ session }) => session.sessionId,
  none: 'nothing runs',
  columns: [
    { head: 'NAME', of: ({ session, isFirst }) => (isFirst ? session.name : '') },
    { head: 'USER', of: ({ session, isFirst }) => (isFirst ? session.user : '') },
    { head: 'KERNEL', of: ({ kernel }) => (kernel === null ? '' : `${kernel.role} on ${kernel.node ?? '-'}`) },
    { head: 'CPU', of: ({ kernel }) => (kernel === null ? '' : cpuText(kernel)) },
    {
      head: 'MEM',
      of: ({ kernel }) => (kernel === null ? '' : memoryText(kernel.memoryBytes, kernel.memoryBytesPromised)),
    },
    { head: 'DEVICE', of: ({ device }) => (device === null ? '-' : modelText(device)) },
    { head: 'GPU', of: ({ device }) => (device === null ? '-' : percent(device.busyPercent)) },
    {
      head: 'GPU MEM',
      of: ({ device }) => (device === null ? '-' : memoryText(device.memoryBytes, device.promisedBytes)),
    },
    { head: 'OPEN', of: ({ session, isFirst }) => (isFirst ? requestsText(session) : '') },
    { head: 'IDLE', of: ({ session, isFirst }, now) => (isFirst ? idleShort(session.idle, now) : '') },
    { head: 'PROJECT', of: ({ session }) => session.project, isWide: true },
    { head: 'GROUP', of: ({ session }) => session.group, isWide: true },
    { head: 'MEASURED', of: ({ kernel }) => kernel?.measuredAt ?? '-', isWide: true },
    { head: 'ID', of: ({ session }) => session.sessionId, isWide: true },
  ],
};
