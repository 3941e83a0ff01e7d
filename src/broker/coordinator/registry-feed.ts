import type { RegistrationChange } from '../../model/registration/registration.js'

/** Brings changes into force in the index of another thread; rejects when that has ended. */
type Apply = (changes: readonly RegistrationChange[]) => Promise<void>

/** Brings the registry's changes to the indexes of other threads. */
export class RegistryFeed {
  readonly #followers = new Set<Apply>()

  /** Sends a thread every change from now on until it ends; it starts with the earlier ones. */
  add(apply: Apply, ended: Promise<void>): void {
    this.#followers.add(apply)
    const over = (): boolean => this.#followers.delete(apply)
    ended.then(over, over)
  }

  /** Resolves when the changes are in force in every other thread. */
  async publish(changes: readonly RegistrationChange[]): Promise<void> {
    await Promise.all(Array.from(this.#followers, (apply) => this.#published(apply, changes)))
  }

  async #published(apply: Apply, changes: readonly RegistrationChange[]): Promise<void> {
    try {
      await apply(changes)
    } catch (fault) {
      // Nobody waits for a thread that has ended.
      if (this.#followers.has(apply)) throw fault
    }
  }
}
