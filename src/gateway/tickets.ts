import type { JSONWebKeySet } from 'jose';
import { type AppTicket, appTicketSchema } from '../contract/index.js';
import { createTokenVerifier, TokenRefused } from '../platform/tokens.js';
import type { AppStore } from '../store/app-store.js';

/** Checks a one-use ticket of the API and uses it up. Null when it is forged, expired, for something else, or used. */
export type TakeTicket = (token: string | null, isWanted: (ticket: AppTicket) => boolean) => Promise<AppTicket | null>;

export function createTickets(verifyKeys: JSONWebKeySet, apps: Pick<AppStore, 'useTicket'>): TakeTicket {
  const verifier = createTokenVerifier(verifyKeys, 'app');
  return async (token, isWanted) => {
    if (token === null) return null;
    try {
      const ticket = appTicketSchema.safeParse(await verifier.verify(token));
      if (!ticket.success || !isWanted(ticket.data)) return null;
      const { jti, exp } = ticket.data;
      const isFirst = await apps.useTicket({ jti, expiresAt: new Date(exp * 1000).toISOString() });
      return isFirst ? ticket.data : null;
    } catch (error) {
      if (error instanceof TokenRefused) return null;
      throw error;
    }
  };
}
