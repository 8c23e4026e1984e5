const UNITS = [
  ['Ti', 1024 ** 4],
  ['Gi', 1024 ** 3],
  ['Mi', 1024 ** 2],
  ['Ki', 1024],
] as const;

/** `8Gi`, `1.5Gi`, `512`: the largest unit, one decimal at most. */
export function formatBytes(bytes: number): string {
  const [unit, factor] = UNITS.find(([, size]) => Math.abs(bytes) >= size) ?? ['', 1];
  return `${decimal(bytes / factor, 1)}${unit}`;
}

/** Cores: `2`, `0.5`. */
export const formatCpu = (milli: number): string => decimal(milli / 1000, 3);

const decimal = (value: number, digits: number): string => String(Number(value.toFixed(digits)));

const SPANS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const;

/** `45s`, `3m`, `2h5m`, `4d`: two units while the larger is below ten. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const index = SPANS.findIndex(([, size]) => whole >= size);
  const [unit, size] = SPANS[index] ?? (['s', 1] as const);
  const amount = Math.floor(whole / size);
  const smaller = SPANS[index + 1];
  const rest = smaller === undefined || index === -1 ? 0 : Math.floor((whole % size) / smaller[1]);
  return amount < 10 && rest > 0 && smaller !== undefined ? `${amount}${unit}${rest}${smaller[0]}` : `${amount}${unit}`;
}

/** Time since an RFC 3339 moment; `-` when there is none. */
export function formatAge(timestamp: string | null | undefined, now: Date): string {
  if (timestamp === null || timestamp === undefined) return '-';
  return formatSeconds((now.getTime() - Date.parse(timestamp)) / 1000);
}

/** `in 12m`, or `3m ago` for what is past. */
export function formatUntil(timestamp: string, now: Date): string {
  const seconds = (Date.parse(timestamp) - now.getTime()) / 1000;
  return seconds < 0 ? `${formatSeconds(-seconds)} ago` : `in ${formatSeconds(seconds)}`;
}

const RESOURCES: Readonly<Record<string, readonly [name: string, format: (amount: number) => string]>> = {
  cpuMilli: ['CPU', formatCpu],
  memoryBytes: ['memory', formatBytes],
  gpuCount: ['GPU', String],
  gpuMemoryBytes: ['GPU memory', formatBytes],
};

/** `CPU` of `cpuMilli`; a resource that this version does not know keeps its name. */
export const resourceName = (resource: string): string => RESOURCES[resource]?.[0] ?? resource;

/** An amount of a slot in the unit that people use: `0.5` of 500 `cpuMilli`; `?` when it is not known. */
export const formatAmount = (resource: string, amount: number | null): string =>
  amount === null ? '?' : (RESOURCES[resource]?.[1] ?? String)(amount);

interface SlotAmounts {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly gpuCount: number;
  readonly gpuMemoryBytes: number;
}

/** `2 cpu, 4Gi, 1 gpu`: what is not asked for is left out. */
export function formatSlots(slots: SlotAmounts): string {
  const parts = [
    slots.cpuMilli > 0 ? `${formatCpu(slots.cpuMilli)} cpu` : '',
    slots.memoryBytes > 0 ? formatBytes(slots.memoryBytes) : '',
    slots.gpuCount > 0 ? `${slots.gpuCount} gpu` : '',
    slots.gpuMemoryBytes > 0 ? `${formatBytes(slots.gpuMemoryBytes)} gpu.mem` : '',
  ];
  return parts.filter((part) => part !== '').join(', ') || '-';
}

export const sessionsText = (count: number): string => `${count} ${count === 1 ? 'session' : 'sessions'}`;
