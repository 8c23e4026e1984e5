import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { which } from '../../../src/cli/supervisor/programs.js';
import { freePort } from '../../support/process.js';

const CONFIG = (dir: string, port: number, appPort: number) => `
daemon off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/error.log;
events {}
http { access_log off; client_body_temp_path ${dir}/b; proxy_temp_path ${dir}/p; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  upstream app { server 127.0.0.1:${appPort}; keepalive 64; }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; } } }
`;

/** Debian's, where it is installed (nginx-light): said beside the others. */
export async function startNginx(
  appPort: number,
): Promise<{ readonly port: number; readonly child: ChildProcess } | null> {
  const program = which('nginx', ['/usr/sbin']);
  if (program === undefined) return null;
  const dir = mkdtempSync(join(tmpdir(), 'berth-nginx-'));
  const port = await freePort();
  writeFileSync(join(dir, 'nginx.conf'), CONFIG(dir, port, appPort));
  const child = spawn(program, ['-c', join(dir, 'nginx.conf')], { stdio: ['ignore', 'inherit', 'inherit'] });
  child.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  for (let tries = 0; tries < 50; tries += 1) {
    const isUp = await fetch(`http://127.0.0.1:${port}/`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (isUp) return { port, child };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill();
  throw new Error('nginx did not start');
}
