import type { MessagePort } from 'node:worker_threads'
import type { RegistrationChange } from '../registration/registration.js'
import type { RegistrationIndex } from '../registration/registration-index.js'
import { onMessages } from '../thread/messages.js'

interface Published {
  readonly number: number
  readonly changes: readonly RegistrationChange[]
}

/** Everything up to this number is in force. */
interface InForce {
  readonly number: number
}

/** Brings the registry's changes to the indexes of other threads, each over a port of its own. */
export class RegistryFeed {
  /** What waits for each thread, by number. */
  readonly #followers = new Map<MessagePort, Map<number, () => void>>()
  #number = 0

  /** From now on the thread at the other end gets every change; it begins with those before. */
  add(port: MessagePort): void {
    const waiting = new Map<number, () => void>()
    this.#followers.set(port, waiting)
    onMessages(port, ({ number }: InForce) => {
      waiting.get(number)?.()
      waiting.delete(number)
    })
    // Nobody waits for a thread that has ended.
    port.once('close', () => {
      this.#followers.delete(port)
      for (const done of waiting.values()) done()
    })
  }

  /** Resolves when the changes are in force in every other thread. */
  async publish(changes: readonly RegistrationChange[]): Promise<void> {
    this.#number += 1
    const published: Published = { number: this.#number, changes }
    const inForce = [...this.#followers].map(
      ([port, waiting]) =>
        new Promise<void>((resolve) => {
          waiting.set(published.number, resolve)
          port.postMessage(published)
        }),
    )
    await Promise.all(inForce)
  }
}

/** Keeps an index up with what the owner publishes at the other end of the port. */
export function followRegistry(port: MessagePort, index: RegistrationIndex): void {
  onMessages(port, ({ number, changes }: Published) => {
    index.apply(changes)
    const reply: InForce = { number }
    port.postMessage(reply)
  })
}
