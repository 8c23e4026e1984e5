/** GPU-hours of GPU-seconds, two decimals at most: `2257.92`. */
export const gpuHours = (gpuSeconds: number): string => String(Math.round(gpuSeconds / 36) / 100);

/** `35 %`, `0.05 %`; `-` where there is none. */
export const percent = (part: number | null): string => (part === null ? '-' : `${Math.round(part * 10_000) / 100} %`);

/** `0.80`; `-` where nothing is allocated. */
export const ratioText = (ratio: number | null): string => (ratio === null ? '-' : ratio.toFixed(2));

export const gpus = (count: number): string => String(Math.round(count * 1000) / 1000);
