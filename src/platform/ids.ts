import { typeid } from 'typeid-js';
import type {
  ApiKeyId,
  BudgetId,
  DomainId,
  FolderId,
  KernelId,
  ProjectId,
  SessionId,
  UserId,
} from '../contract/index.js';

/** A new id: UUID v7 in base 32 behind its kind, so later ids sort after earlier ones. Never inside a workflow. */
const mint = (kind: string): string => typeid(kind).toString();

export const newSessionId = (): SessionId => mint('ses') as SessionId;
export const newKernelId = (): KernelId => mint('krn') as KernelId;
export const newFolderId = (): FolderId => mint('fld') as FolderId;
export const newDomainId = (): DomainId => mint('dom') as DomainId;
export const newProjectId = (): ProjectId => mint('prj') as ProjectId;
export const newUserId = (): UserId => mint('usr') as UserId;
export const newApiKeyId = (): ApiKeyId => mint('key') as ApiKeyId;
export const newInvitationId = (): string => mint('inv');
export const newBudgetId = (): BudgetId => mint('bgt') as BudgetId;
export const newRequestId = (): string => mint('req');
export const newInstanceId = (): string => mint('eng');
export const newClaimId = (): string => mint('mdl');
export const newDeploymentId = (): string => mint('dep');
export const newDeploymentTokenId = (): string => mint('dpt');
