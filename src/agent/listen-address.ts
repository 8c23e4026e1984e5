const isLoopback = (host: string): boolean => /^(127\.|localhost$|\[?::1\]?$)/.test(host);

/** Where the agent and the ports of its containers listen: a node for this machine alone is seen by it alone. */
export const listenAddress = ({ agentUrl }: { readonly agentUrl: string }): string =>
  isLoopback(new URL(agentUrl).hostname) ? '127.0.0.1' : '0.0.0.0';
