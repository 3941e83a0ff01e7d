/** A port, as whoever listens to it needs it. */
export interface MessageSource<Message> {
  on(event: 'message', take: (message: Message) => void): unknown
  on(event: 'messageerror', unreadable: (fault: Error) => void): unknown
}

/**
 * Takes the messages of a port. A message that cannot be read ends the thread, as any other fault of its program does, unless
 * `unreadable` knows what was lost with it: without a listener it would be lost in silence, and whoever waits for it would wait for good.
 */
export function onMessages<Message>(
  port: MessageSource<Message>,
  take: (message: Message) => void,
  unreadable: (fault: Error) => void = fail,
): void {
  port.on('message', take)
  port.on('messageerror', unreadable)
}

function fail(fault: Error): never {
  throw new Error('a message of another thread cannot be read', { cause: fault })
}
