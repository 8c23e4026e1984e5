import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Browser, chromium, type Page, type WebSocket } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureNotebookImage } from '../../infra/images/notebook.mjs';
import { ensureChromium } from '../../infra/setup/chromium.mjs';
import { eventually } from '../support/process.js';
import { type LocalBerth, startBerth } from './local-berth.js';

let berth: LocalBerth;
let browser: Browser;
beforeAll(async () => {
  const { name } = await ensureNotebookImage();
  berth = await startBerth('notebook');
  browser = await chromium.launch({ executablePath: await ensureChromium(), args: ['--no-sandbox'] });
  const ran = await berth.run('run', '-d', '--name', 'notes', '--kind', 'interactive', '-p', 'jupyter:8888', name);
  expect(ran.code, ran.stderr).toBe(0);
}, 600_000);
afterAll(async () => {
  await browser?.close();
  await berth?.run('stop', 'notes');
  await berth?.remove();
});

const berthProgram = join(import.meta.dirname, '..', '..', 'dist', 'berth.js');
const start = (command: readonly string[]): ChildProcess => {
  const [program = '', ...args] = command;
  const env = { ...process.env, BERTH_STATE: berth.directory, BERTH_URL: '', BERTH_TOKEN: '', HOME: berth.directory };
  return spawn(program, args, { env, cwd: berth.directory, stdio: ['pipe', 'pipe', 'inherit'] });
};
const outputOf = (child: ChildProcess): { text: string } => {
  const output = { text: '' };
  child.stdout?.on('data', (chunk: Buffer) => (output.text += chunk.toString()));
  return output;
};

async function runCell(page: Page, code: string): Promise<string> {
  await page.locator('.jp-LauncherCard[data-category="Notebook"]').first().click({ timeout: 60_000 });
  await page.getByText('Python 3 (ipykernel) | Idle').waitFor({ timeout: 60_000 }); // before that a cell is not taken
  await page.locator('.jp-Notebook .cm-content').first().click();
  await page.keyboard.type(code);
  await page.keyboard.press('Shift+Enter');
  return (await page.locator('.jp-OutputArea-output').first().textContent({ timeout: 60_000 })) ?? '';
}

test('JupyterLab is opened while it starts, runs a cell, and its kernel speaks over the proxied WebSocket', async () => {
  const { stdout } = await berth.run('open', 'notes', 'jupyter', '--print', '--path', '/lab');
  const url = new URL(stdout.trim());
  expect(url.hostname).toMatch(/^jupyter--[0-9a-z]{26}\.apps\.localhost$/);
  const page = await browser.newPage();
  const sockets: WebSocket[] = [];
  let fromKernel = 0;
  page.on('websocket', (socket) => {
    if (!socket.url().includes('/channels')) return;
    sockets.push(socket);
    socket.on('framereceived', () => (fromKernel += 1));
  });
  await page.goto(url.href);
  expect(await runCell(page, 'print("answer", 6 * 7)')).toContain('answer 42');
  expect(sockets[0]?.url()).toMatch(new RegExp(`^ws://${url.host}/api/kernels/`));
  expect(fromKernel).toBeGreaterThan(3);
  const cookies = await page.context().cookies();
  expect(cookies.find(({ name }) => name === 'berth-app')).toMatchObject({
    httpOnly: true,
    sameSite: 'Lax',
    domain: url.hostname,
  });
  await page.close();
  const used = await browser.newPage();
  expect((await used.goto(url.href))?.status()).toBe(404); // the link is used up
  await used.close();
});

test('port-forward reaches the same port from this machine', async () => {
  const forward = start([process.execPath, berthProgram, 'port-forward', 'notes', 'jupyter']);
  const said = outputOf(forward);
  await eventually('it listens', () => said.text.includes('→'));
  const address = said.text.split(' ')[0] ?? '';
  const answer = await fetch(`http://${address}/api`);
  expect([answer.status, await answer.json()]).toEqual([200, { version: expect.any(String) }]);
  forward.kill('SIGINT');
  await once(forward, 'exit');
});

test('exec -it gives a terminal of the size of this one, and the exit code of its command', async () => {
  const command = `stty rows 33 cols 99; ${process.execPath} ${berthProgram} exec -it notes -- sh`;
  const child = start(['script', '-qec', command, '/dev/null']);
  const said = outputOf(child);
  await eventually('a prompt', () => said.text.includes('# '));
  child.stdin?.write('stty size; tty; exit 7\n');
  const [code] = (await once(child, 'exit')) as [number];
  expect(said.text).toMatch(/33 99\s+\/dev\/pts\/\d/);
  expect(code).toBe(7);
});
