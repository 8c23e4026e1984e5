import type { ProblemCode, Refusal } from '../contract/problem.js';
import type { QuotaLimits, QuotaScopeKind } from '../contract/quota.js';
import type { SnapshotNode, SnapshotQuota } from '../contract/snapshot.js';
import { type ContractQuestion, contractGrounds } from './contract-grounds.js';
import type { Request } from './demand.js';
import { neverFits } from './fits-ever.js';
import { quotaMessage } from './quota-book.js';
import { quotaNever } from './quota-never.js';
import {
  crowdedGrounds,
  dependencyGrounds,
  type GroupFacts,
  nodeGrounds,
  type RequestWants,
  runtimeGrounds,
} from './request-grounds.js';

/** What admission is asked, and what the ledger knows of it. */
export interface AdmissionQuestion {
  readonly request: Request;
  readonly name: string | null;
  readonly asked: { readonly group: string; readonly project: string | null };
  readonly project: { readonly id?: string; readonly name: string; readonly domain?: string } | null;
  readonly isMember: boolean;
  readonly group: ({ readonly mayUse: boolean } & NonNullable<GroupFacts['group']>) | null;
  readonly dependencies?: GroupFacts['dependencies'];
  readonly wants?: RequestWants;
  readonly contract?: ContractQuestion['contract'];
  readonly budgets?: ContractQuestion['budgets'];
  readonly nodes: readonly SnapshotNode[];
  readonly quotas: readonly Pick<SnapshotQuota, 'scope' | 'name' | 'limits'>[];
  readonly pending: readonly {
    readonly scope: QuotaScopeKind;
    readonly name: string;
    readonly waiting: number;
    readonly limits: QuotaLimits;
  }[];
  readonly nameTakenBy: string | null;
  readonly folders: readonly {
    readonly asked: string;
    readonly found: object | null;
    readonly lacks?: 'read' | 'write';
  }[];
}

interface Ground {
  readonly code: ProblemCode;
  readonly pointer: string;
  readonly message: string;
  /** A command that helps with this one. */
  readonly hint?: string;
}

/** Of several grounds, the first kind names the problem; all are told. */
const PRECEDENCE: readonly ProblemCode[] = ['invalid_request', 'never_fits', 'quota_exceeded', 'conflict'];

/** Null when the session may wait for its turn; else every ground on which it can never run as it was asked. */
export function decideAdmission(question: AdmissionQuestion): Refusal | null {
  const grounds = [
    ...unknownGrounds(question),
    ...wantGrounds(question),
    ...contractGrounds(question),
    ...sizeGrounds(question),
    ...quotaGrounds(question),
    ...nameGrounds(question),
  ];
  const code = PRECEDENCE.find((kind) => grounds.some((ground) => ground.code === kind));
  if (code === undefined) return null;
  return {
    code,
    detail: grounds.map(({ message }) => message).join('; '),
    errors: grounds.map(({ pointer, message }) => ({ pointer, message })),
    ...hintOf(code, grounds, question),
  };
}

function unknownGrounds({ asked, project, isMember, group, folders }: AdmissionQuestion): Ground[] {
  const invalid = (pointer: string, message: string): Ground => ({ code: 'invalid_request', pointer, message });
  const grounds: Ground[] = [];
  if (project === null)
    grounds.push(
      invalid(
        '/project',
        asked.project === null
          ? 'you are in several projects or in none: name the project'
          : `you are in no project named ${asked.project}`,
      ),
    );
  else if (!isMember)
    grounds.push(
      invalid('/project', `you are not a member of ${project.name}: berth project add-member ${project.name} YOU`),
    );
  if (group === null) grounds.push(invalid('/group', `there is no resource group named ${asked.group}`));
  else if (!group.mayUse) grounds.push(invalid('/group', `your project may not use the resource group ${asked.group}`));
  folders.forEach(({ asked: folder, found, lacks }, index) => {
    if (found === null) grounds.push(invalid(`/mounts/${index}/folder`, `you can see no folder named ${folder}`));
    else if (lacks !== undefined)
      grounds.push(invalid(`/mounts/${index}/folder`, `you may not ${lacks} the folder ${folder}`));
  });
  return grounds;
}

function wantGrounds(question: AdmissionQuestion): Ground[] {
  const { wants } = question;
  const invalid = [
    ...dependencyGrounds(question),
    ...(wants === undefined ? [] : [...nodeGrounds(question, wants), ...runtimeGrounds(question, wants)]),
  ];
  return [
    ...invalid.map((ground): Ground => ({ code: 'invalid_request', ...ground })),
    ...crowdedGrounds(question).map((ground): Ground => ({ code: 'quota_exceeded', ...ground })),
  ];
}

const sizeGrounds = ({ request, nodes, group }: AdmissionQuestion): Ground[] =>
  group === null
    ? []
    : (neverFits(request, nodes, group.policy) ?? []).map(({ message }) => ({
        code: 'never_fits',
        pointer: '/kernels',
        message,
      }));

function quotaGrounds({ request, quotas, pending }: AdmissionQuestion): Ground[] {
  const never = quotaNever(request, quotas);
  const full = pending.filter(
    ({ limits, waiting }) =>
      limits.pendingSessions !== undefined && waiting >= limits.pendingSessions && limits.pendingSessions > 0,
  );
  return [
    ...(never.length === 0
      ? []
      : [{ code: 'quota_exceeded' as const, pointer: '/kernels', message: quotaMessage(never) }]),
    ...full.map(({ scope, name, waiting, limits }) => ({
      code: 'quota_exceeded' as const,
      pointer: '',
      message: `${scope} ${name}: ${waiting} sessions wait already, of at most ${limits.pendingSessions}`,
    })),
  ];
}

const nameGrounds = ({ name, nameTakenBy }: AdmissionQuestion): Ground[] =>
  nameTakenBy === null
    ? []
    : [
        {
          code: 'conflict',
          pointer: '/name',
          message: `the open session ${nameTakenBy} of this project is named ${name}`,
        },
      ];

function hintOf(
  code: ProblemCode,
  grounds: readonly Ground[],
  { asked }: AdmissionQuestion,
): { readonly hint?: string } {
  const own = grounds.find((ground) => ground.code === code && ground.hint !== undefined)?.hint;
  if (own !== undefined) return { hint: own };
  if (code === 'never_fits') return { hint: `berth node ls --group ${asked.group}` };
  if (code === 'quota_exceeded') return { hint: 'berth quota ls' };
  return {};
}
