import { execFileSync } from 'node:child_process';
import type { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SEARCH_ATTRIBUTES, searchValue } from '../../src/lifecycle/names.js';
import { connectTemporal } from '../../src/temporal/connect.js';
import { createTemporalDoor } from '../../src/temporal/create-temporal-door.js';
import { currentVersion, setCurrentVersion } from '../../src/temporal/deployment.js';
import { registerSearchAttributes } from '../../src/temporal/search-attributes.js';
import { createControlWorker } from '../../workers/control-worker.js';
import { eventually } from '../support/process.js';
import '../support/control-plane.js'; // installs the quiet runtime
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

let temporal: TestTemporal;
let client: Client;
let connection: Connection;
beforeAll(async () => {
  temporal = await startTestTemporal();
  ({ client, connection } = connectTemporal(temporal));
});
afterAll(async () => {
  await connection.close();
  await temporal.stop();
});

const pass = { outcome: 'planned', placed: 0, waiting: 0, again: false, nextWakeMs: null, head: '0 waiting' } as const;
/** A control worker that plans nothing, under a build id of its own; it runs until it is told to end. */
async function startBuild(buildId: string) {
  let passes = 0;
  const { worker, connection: native } = await createControlWorker({
    ...temporal,
    buildId,
    dependencies: { store: { sessions: {}, nodes: {} } } as never,
    wrap: () =>
      ({
        plan: async () => {
          passes += 1;
          return pass;
        },
      }) as never,
  });
  const run = worker.run();
  const end = async () => {
    worker.shutdown();
    await run;
    await native.close();
  };
  return { passes: () => passes, end };
}

describe('search attributes', () => {
  test('are registered by two at once and again, each with its type', async () => {
    const register = () => registerSearchAttributes(connection, temporal.namespace);
    await Promise.all([register(), register()]);
    await register();
    const list = ['operator', 'search-attribute', 'list', '--address', temporal.address];
    const text = execFileSync(temporal.program, list, { encoding: 'utf8' });
    for (const [name, type] of Object.entries(SEARCH_ATTRIBUTES))
      expect(text).toMatch(new RegExp(`${name}\\s+${type}\\s`));
  });

  test('are at most eight keywords for all kinds of workflow, and the node is a list', () => {
    const types = Object.values(SEARCH_ATTRIBUTES);
    expect(types.filter((type) => type === 'Keyword').length).toBeLessThanOrEqual(8);
    expect(SEARCH_ATTRIBUTES.BerthNode).toBe('KeywordList');
  });

  test('of the owner stand from the start, are found, and are cut to 255', async () => {
    const door = createTemporalDoor(temporal);
    const project = 'p'.repeat(300);
    expect(await door.submitSession('ses_owner' as never, 3_000, { user: 'bob', project, group: 'default' })).toEqual({
      outcome: 'pending', // nobody works here yet
    });
    await door.close();
    const { searchAttributes } = await client.workflow.getHandle('session/ses_owner').describe();
    expect(searchAttributes).toMatchObject({ BerthStatus: ['PENDING'], BerthUser: ['bob'], BerthGroup: ['default'] });
    expect(searchAttributes['BerthProject']).toEqual([searchValue(project)]);
    expect(searchValue(project)).toHaveLength(255);
    await eventually('it is found by its owner', async () => {
      const query = `BerthUser = 'bob' AND BerthStatus = 'PENDING'`;
      return (await client.workflow.count(query)).count === 1;
    });
  });
});

describe('a build of the control worker', () => {
  test('runs nothing before it is the current version, and becomes it once and again', async () => {
    const door = createTemporalDoor(temporal);
    const build = await startBuild('one');
    await door.kickGroup('g');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect([build.passes(), await currentVersion(connection, temporal.namespace)]).toEqual([0, null]);
    await setCurrentVersion(connection, temporal.namespace, 'one');
    await setCurrentVersion(connection, temporal.namespace, 'one');
    expect(await currentVersion(connection, temporal.namespace)).toBe('one');
    await eventually('it plans', () => build.passes() > 0);

    const next = await startBuild('two');
    await setCurrentVersion(connection, temporal.namespace, 'two');
    await build.end();
    await door.kickGroup('g');
    await eventually('a workflow that began on the old build goes on with the new one', () => next.passes() > 0);
    const shown = await client.workflow.getHandle('group/g').query('__temporal_workflow_metadata');
    expect(JSON.stringify(shown)).toContain('0 waiting'); // its current details: the head of its queue
    await next.end();
    await door.close();
  });
});
