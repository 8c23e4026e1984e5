const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** Where sums are to be followed: GiB with three decimals (`17.55Gi`, `0.513Gi`), below 1 MiB plain bytes. */
export function exactBytes(bytes: number): string {
  if (bytes !== 0 && Math.abs(bytes) < MIB) return String(bytes);
  return `${Number((bytes / GIB).toFixed(3))}Gi`;
}

/** `-` for what is not known. */
export const exactOr = (bytes: number | null): string => (bytes === null ? '-' : exactBytes(bytes));
