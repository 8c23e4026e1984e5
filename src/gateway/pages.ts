import { PROBLEMS, type ProblemCode } from '../contract/index.js';

/** What the gateway answers in the place of an app. */
export interface Page {
  readonly code: ProblemCode;
  readonly title: string;
  readonly detail: string;
  /** A command that helps. */
  readonly hint?: string | undefined;
  /** The page asks again after so long; a client is told so. */
  readonly againSeconds?: number;
}

export interface Rendered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem;color:#222;background:#fff}
code{background:#eee;padding:.1em .4em;border-radius:3px}small{color:#666}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}code{background:#333}small{color:#999}}`;

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Browsers ask for text/html by name; programs get problem+json. */
export const wantsHtml = (accept: string | undefined): boolean => /\btext\/html\b/i.test(accept ?? '');

/** A page for people, or the same as problem+json, by Accept. Never kept by a cache, and nothing in it runs. */
export function renderPage(page: Page, accept: string | undefined, requestId: string): Rendered {
  const { status } = PROBLEMS[page.code];
  const again = page.againSeconds;
  const headers = {
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    ...(again === undefined ? {} : { 'retry-after': String(again) }),
  };
  if (!wantsHtml(accept)) {
    const type = 'application/problem+json';
    return { status, headers: { ...headers, 'content-type': type }, body: problemText(page, requestId) };
  }
  const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
  const html = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy };
  return { status, headers: { ...headers, ...html }, body: htmlText(page, requestId) };
}

function problemText({ code, detail, hint, againSeconds }: Page, requestId: string): string {
  const { status, title } = PROBLEMS[code];
  const more = {
    ...(againSeconds === undefined ? {} : { retryAfterSeconds: againSeconds }),
    ...(hint === undefined ? {} : { hint }),
  };
  return JSON.stringify({
    type: `/docs/errors#${code}`,
    title,
    status,
    detail,
    instance: requestId,
    code,
    errors: [],
    ...more,
  });
}

function htmlText({ title, detail, hint, againSeconds }: Page, requestId: string): string {
  const refresh = againSeconds === undefined ? '' : `<meta http-equiv="refresh" content="${againSeconds}">`;
  const help = hint === undefined ? '' : `<p><code>${escaped(hint)}</code></p>`;
  const asks = againSeconds === undefined ? '' : '<p><small>This page looks again by itself.</small></p>';
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${refresh}
<title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><h1>${escaped(title)}</h1><p>${escaped(detail)}</p>${help}${asks}<small>${escaped(requestId)}</small></body></html>`;
}

/** The same words whether there is no such session, or it is somebody else's. */
export const HIDDEN: Page = {
  code: 'not_found',
  title: 'Nothing here is open to you',
  detail: 'There is no such app, or you may not open it, or your visit has run out.',
  hint: 'berth open SESSION PORT',
};
