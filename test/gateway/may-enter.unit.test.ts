import { expect, test } from 'vitest';
import type { AppCookie } from '../../src/contract/index.js';
import { mayEnter } from '../../src/gateway/may-enter.js';
import type { AppRoute, AppShare } from '../../src/store/app-store.js';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const cookieOf = (change: object = {}): AppCookie =>
  ({
    sessionId: 's',
    port: 'http',
    right: 'owner',
    userId: 'bob',
    link: null,
    exp: NOW / 1000 + 60,
    ...change,
  }) as AppCookie;
const shareOf = (sharing: AppShare['sharing'], change: Partial<AppShare> = {}): AppShare => ({
  port: 'http',
  sharing,
  linkHash: sharing === 'link' ? 'hash' : null,
  expiresAt: null,
  ...change,
});
const routeOf = (...shares: AppShare[]): AppRoute =>
  ({ sessionId: 's', userId: 'bob', shares, memberIds: ['carol'] }) as unknown as AppRoute;
const member = cookieOf({ right: 'member', userId: 'carol' });
const link = cookieOf({ right: 'link', userId: null, link: 'hash' });

const cases: [title: string, route: AppRoute, cookie: AppCookie | null, want: boolean][] = [
  ['its owner, shared or not', routeOf(), cookieOf(), true],
  ['an owner of another session', routeOf(), cookieOf({ userId: 'eve' }), false],
  ['nobody without a cookie', routeOf(), null, false],
  ['no cookie of another session', routeOf(), cookieOf({ sessionId: 't' }), false],
  ['no cookie of another port', routeOf(), cookieOf({ port: 'ssh' }), false],
  ['no cookie that has expired', routeOf(), cookieOf({ exp: NOW / 1000 }), false],
  ['an operator', routeOf(), cookieOf({ right: 'operator', userId: 'op' }), true],
  ['a member while it is shared with the project', routeOf(shareOf('project')), member, true],
  ['no member when it no longer is', routeOf(), member, false],
  ['no member when it is shared by link', routeOf(shareOf('link')), member, false],
  ['nobody who left the project', routeOf(shareOf('project')), { ...member, userId: 'dan' } as AppCookie, false],
  ['who came by the link', routeOf(shareOf('link')), link, true],
  ['nobody who came by an older link', routeOf(shareOf('link', { linkHash: 'new' })), link, false],
  ['nobody whose link has ended', routeOf(shareOf('link', { expiresAt: '2026-11-30T12:00:00Z' })), link, false],
  ['nobody by a link when it is shared otherwise', routeOf(shareOf('project')), link, false],
  ['everybody where it is public', routeOf(shareOf('public')), null, true],
  ['nobody where another port is public', routeOf(shareOf('public', { port: 'ssh' })), null, false],
];
test.each(cases)('lets in %s', (_title, route, cookie, want) => {
  expect(mayEnter(route, 'http', { cookie, nowMs: NOW })).toBe(want);
});
