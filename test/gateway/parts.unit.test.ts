import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { exportJWK, generateKeyPair } from 'jose';
import { expect, test } from 'vitest';
import { parsePair } from '../../src/cli/commands/port-forward.js';
import type { ActivityReport, SessionId } from '../../src/contract/index.js';
import { createActivity } from '../../src/gateway/activity.js';
import { createAppCookies } from '../../src/gateway/app-cookies.js';
import { renderPage } from '../../src/gateway/pages.js';
import { createLogger } from '../../src/platform/log.js';
import { createTokenSigner } from '../../src/platform/tokens.js';

const log = createLogger({ process: 'test', level: 'silent' });
async function testKeys() {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  return {
    signer: await createTokenSigner({ ...(await exportJWK(privateKey)), kid: 'test' }),
    verifyKeys: { keys: [{ ...(await exportJWK(publicKey)), kid: 'test', alg: 'ES256' }] },
  };
}

const claims = {
  sessionId: `ses_0${'0'.repeat(25)}` as SessionId,
  port: 'http',
  right: 'link',
  userId: null,
  link: 'x',
} as const;

test('with TLS the cookie has the prefix that binds it to its host, and is Secure', async () => {
  const cookies = createAppCookies({ ...(await testKeys()), isSecure: true });
  expect(await cookies.issue(claims, 60)).toMatch(
    /^__Host-berth-app=[^;]+; Path=\/; Max-Age=60; HttpOnly; SameSite=Lax; Secure$/,
  );
});

test('a cookie is read back, also beside others; one of another installation is none', async () => {
  const cookies = createAppCookies({ ...(await testKeys()), isSecure: false });
  const others = createAppCookies({ ...(await testKeys()), isSecure: false });
  const [pair = ''] = (await cookies.issue(claims)).split(';');
  expect(await cookies.read(`a=1; ${pair}; b=2`)).toMatchObject(claims);
  expect([await others.read(pair), await cookies.read('a=1'), await cookies.read(undefined)]).toEqual([
    null,
    null,
    null,
  ]);
});

test('a page says nothing that the browser would run', () => {
  const page = { code: 'gone', title: '<script>1</script>', detail: '"&\'' } as const;
  const { body, headers, status } = renderPage(page, 'text/html,*/*', 'req_1');
  expect([status, body.includes('<script>')]).toEqual([410, false]);
  expect(headers['content-security-policy']).toContain("default-src 'none'");
});

test('activity is told in batches: a silent socket is not in flight, and what could not be told is told later', async () => {
  const told: ActivityReport[] = [];
  let isAway = false;
  const record = async (report: ActivityReport) => {
    if (isAway) throw new Error('away');
    told.push(report);
  };
  const activity = createActivity({ gateway: 'g', record, everyMs: 3_600_000, log });
  const socket = Object.assign(new PassThrough(), { bytesRead: 0, bytesWritten: 0 });
  const end = activity.begin(claims.sessionId);
  activity.watch(claims.sessionId, socket as unknown as Socket);
  await activity.flush();
  end();
  await activity.flush();
  socket.bytesRead = 12; // two pongs
  await activity.flush();
  socket.bytesWritten = 4_000;
  isAway = true;
  await activity.flush();
  isAway = false;
  await activity.flush();
  await activity.close();
  const seen = told.map(({ sessions }) =>
    sessions.map(({ requests, inFlight, quietMs }) => [requests, inFlight, quietMs < 1_000]),
  );
  expect(seen).toEqual([[[2, 1, true]], [[0, 0, true]], [], [[0, 0, true]], []]);
});

const pairs: [text: string, want: object | null][] = [
  ['8888:jupyter', { local: 8888, port: 'jupyter' }],
  ['8080:80', { local: 8080, port: '80' }],
  ['jupyter', { local: 0, port: 'jupyter' }],
  ['70000:http', null],
  ['a:b:c', null],
  ['8080:', null],
];
test.each(pairs)('port-forward reads %s', (text, want) => {
  if (want === null) expect(() => parsePair(text)).toThrow(/LOCAL:PORT/);
  else expect(parsePair(text)).toEqual(want);
});
