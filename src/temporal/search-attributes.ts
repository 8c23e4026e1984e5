import type { Connection } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { SEARCH_ATTRIBUTES, searchValue } from '../lifecycle/names.js';
import type { ShownOwner } from './door.js';

/** What `session/<id>` carries from its start: three upserts are left for its life. */
export const ownerAttributes = ({ user, project, group }: ShownOwner): SearchAttributePair[] =>
  Object.entries({ BerthStatus: 'PENDING', BerthUser: user, BerthProject: project, BerthGroup: group }).map(
    ([name, value]) => ({ key: defineSearchAttributeKey(name, 'KEYWORD'), value: searchValue(value) }),
  );

const TYPES = { Keyword: 2, KeywordList: 7 } as const;
const SETTLE_TRIES = 100;
const SETTLE_MS = 100;

/**
 * Registers what is missing and returns when the namespace knows all: a workflow task that sets an unknown attribute fails
 * for ever while its session shows as running, so no worker starts before this. Safe to run twice and by two at once.
 */
export async function registerSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  for (let tries = 0; tries < SETTLE_TRIES; tries += 1) {
    const missing = await missingAttributes(connection, namespace).catch(() => null); // a server that just started
    if (missing?.length === 0) return;
    if (missing !== null && tries % 20 === 0) await addAttributes(connection, namespace, missing);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }
  throw new Error('the search attributes did not become known to Temporal in time');
}

type Name = keyof typeof SEARCH_ATTRIBUTES;

async function missingAttributes(connection: Connection, namespace: string): Promise<Name[]> {
  const known = await connection.operatorService.listSearchAttributes({ namespace });
  const names = Object.keys(SEARCH_ATTRIBUTES) as Name[];
  return names.filter((name) => Number(known.customAttributes?.[name] ?? 0) !== TYPES[SEARCH_ATTRIBUTES[name]]);
}

async function addAttributes(connection: Connection, namespace: string, names: readonly Name[]): Promise<void> {
  const searchAttributes = Object.fromEntries(names.map((name) => [name, TYPES[SEARCH_ATTRIBUTES[name]]]));
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    if (!/already exist/i.test(text)) throw error; // another worker was first
  }
}
