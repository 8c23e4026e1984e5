/** Texts that Temporal's UI shows of a workflow: Markdown, one idea a line, and always the command that tells more. */
export interface ShownSession {
  readonly sessionId: string;
  readonly name: string;
  readonly user: string;
  readonly project: string;
  readonly group: string;
  readonly slotsText: string;
}

const head = (session: ShownSession): string =>
  `**${session.name}** of ${session.user} in ${session.project}: ${session.slotsText}`;

export const waitingDetails = (session: ShownSession): string =>
  [
    head(session),
    `Waiting for room and quota in group \`${session.group}\`. Its place in the queue and the reason:`,
    `\`berth why ${session.sessionId}\` · the head of the queue: workflow \`group/${session.group}\``,
  ].join('\n\n');

/** Put back in the queue with its place by the original submission: why, and how often it was tried. */
export const againDetails = (
  session: ShownSession,
  attempt: number,
  { cause, message }: { readonly cause: string | null; readonly message?: string | null },
): string =>
  [
    head(session),
    `Waiting again (attempt ${attempt} is over): ${[cause, message].filter(Boolean).join(': ') || 'put back'}`,
    `\`berth why ${session.sessionId}\` · the head of the queue: workflow \`group/${session.group}\``,
  ].join('\n\n');

export const phaseDetails = (session: ShownSession, phase: string, nodes: readonly string[]): string =>
  [head(session), `${phase} on ${nodes.join(', ')}`, `\`berth why ${session.sessionId}\``].join('\n\n');

export const endedDetails = (session: ShownSession, outcome: string): string =>
  [head(session), outcome, `\`berth history ${session.sessionId}\``].join('\n\n');
