/** The program's path; installs Debian's where there is none. Throws `SetupError`. */
export function ensureChromium(): Promise<string>;
