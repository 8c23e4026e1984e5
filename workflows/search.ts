import { defineSearchAttributeKey, type SearchAttributeUpdatePair } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import { searchValue } from '../src/lifecycle/names.js';

const keys = {
  status: defineSearchAttributeKey('BerthStatus', 'KEYWORD'),
  reason: defineSearchAttributeKey('BerthReason', 'KEYWORD'),
  user: defineSearchAttributeKey('BerthUser', 'KEYWORD'),
  project: defineSearchAttributeKey('BerthProject', 'KEYWORD'),
  group: defineSearchAttributeKey('BerthGroup', 'KEYWORD'),
} as const;
const nodeKey = defineSearchAttributeKey('BerthNode', 'KEYWORD_LIST');

export type Shown = Partial<Record<keyof typeof keys, string>> & { readonly nodes?: readonly string[] };

/** One upsert. A session has at most three in its life: prepared, running, ended. */
export function show({ nodes, ...values }: Shown): void {
  const pairs: SearchAttributeUpdatePair[] = Object.entries(values).map(([name, value]) => ({
    key: keys[name as keyof typeof keys],
    value: searchValue(value),
  }));
  if (nodes !== undefined) pairs.push({ key: nodeKey, value: nodes.map(searchValue) });
  upsertSearchAttributes(pairs);
}
