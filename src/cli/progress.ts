/** One line on stderr that tells where a session stands: rewritten on a terminal, else one line a change. */
export interface Progress {
  readonly tell: (text: string) => void;
  /** Ends the rewritten line; `text` stays. */
  readonly end: (text?: string) => void;
}

const plainProgress = (): Progress => {
  let last = '';
  const tell = (text: string): void => {
    if (text === last) return;
    last = text;
    process.stderr.write(`${text}\n`);
  };
  return { tell, end: (text) => (text === undefined ? undefined : tell(text)) };
};

export async function openProgress(): Promise<Progress> {
  if (!process.stderr.isTTY) return plainProgress();
  const { default: ora } = await import('ora');
  const spinner = ora({ stream: process.stderr, discardStdin: false });
  return {
    tell: (text) => void (spinner.isSpinning ? (spinner.text = text) : spinner.start(text)),
    end: (text) => {
      spinner.stop();
      if (text !== undefined) process.stderr.write(`${text}\n`);
    },
  };
}
