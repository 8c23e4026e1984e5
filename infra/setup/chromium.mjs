// Finds Debian's Chromium, or installs it: the browser of the tests.
import { aptInstall, isMain, main, run, SetupError, say, which, withLock } from './common.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const found = () => NAMES.map((name) => which(name, ['/usr/bin', '/usr/local/bin'])).find((file) => file !== undefined);

/** The program's path. `BERTH_CHROMIUM` names another one. */
export async function ensureChromium() {
  if (process.env.BERTH_CHROMIUM) return process.env.BERTH_CHROMIUM;
  const known = found();
  if (known !== undefined) return known;
  return withLock('chromium', async () => {
    if (found() === undefined) await aptInstall('chromium', 'chromium: no browser is installed');
    const installed = found();
    if (installed === undefined)
      throw new SetupError('chromium: it was installed and is not there', 'set BERTH_CHROMIUM');
    return installed;
  });
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const program = await ensureChromium();
    const { stdout } = await run(program, ['--version']);
    say(`chromium: ${program} (${stdout.trim()})`);
  });
}
