import type { FastifyRequest } from 'fastify';

/** Aborts when the client has closed its connection. */
export function clientGone(request: FastifyRequest): AbortSignal {
  const controller = new AbortController();
  const { socket } = request.raw;
  const abort = () => controller.abort();
  socket.once('close', abort);
  if (socket.destroyed) abort();
  return controller.signal;
}
