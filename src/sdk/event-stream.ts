import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** The messages of one SSE answer, until it ends. `onRetry` hears the pause that the server asks for, in milliseconds. */
export async function* messagesOf(
  body: ReadableStream<Uint8Array>,
  onRetry: (milliseconds: number) => void,
): AsyncGenerator<EventSourceMessage, void, undefined> {
  let ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => ready.push(message), onRetry });
  const decoder = new TextDecoder();
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    const messages = ready;
    ready = [];
    yield* messages;
  }
}
