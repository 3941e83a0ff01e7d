export interface MessageSource<Message> {
  on(event: 'message', take: (message: Message) => void): unknown
  on(event: 'messageerror', unreadable: (fault: Error) => void): unknown
}

/**
 * Listens to the messages of a port. A message that cannot be deserialized ends the thread, as any other fault does, unless
 * `unreadable` handles it: ignored silently, it would leave its recipient waiting for good.
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
