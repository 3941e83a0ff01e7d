import type { RegistrationId } from '../../model/registration/registration.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { StoredFolder } from '../offline/offline-folder.js'
import {
  type AvailabilityItem,
  type Item,
  isThere,
  type Outcome,
  type RegistrationItem,
  type SinkSettings,
  type SubscriptionItem,
} from './items.js'

/** Puts subscriptions and registrations into a data folder. */
export class FolderMetadata {
  readonly #stored: StoredFolder
  readonly #settings: SinkSettings
  /** Their numbers in the order of creation. */
  readonly #subscriptions: Map<SubscriptionId, number>
  readonly #availability: Map<SubscriptionId, number>
  readonly #registrations: Map<RegistrationId, number>
  #order: number

  constructor(stored: StoredFolder, settings: SinkSettings) {
    this.#stored = stored
    this.#settings = settings
    this.#subscriptions = new Map(stored.metadata.subscriptions().map(({ id, order }) => [id, order]))
    this.#availability = new Map([...stored.metadata.availability()].map(({ id, order }) => [id, order]))
    this.#registrations = new Map([...stored.metadata.registrations()].map(({ id, order }) => [id, order]))
    const orders = [this.#subscriptions, this.#availability, this.#registrations].map((held) =>
      [...held.values()].reduce((most, order) => Math.max(most, order), 0),
    )
    this.#order = Math.max(...orders)
  }

  /** Resolves when the item is stored or refused. */
  put(item: Exclude<Item, { kind: 'entity' }>): Promise<Outcome> {
    switch (item.kind) {
      case 'subscription':
        return this.#subscription(item)
      case 'registration':
        return this.#registration(item)
      case 'availability':
        return this.#availabilitySubscription(item)
    }
  }

  #subscription({ subscription, stats, ticked }: SubscriptionItem): Promise<Outcome> {
    const { id } = subscription
    return this.#placed(this.#subscriptions, id, (order) => {
      const acks = stats === undefined ? [] : [{ subscription: id, gone: [], stats }]
      const tick = ticked !== undefined && { ticked: { id, due: ticked } }
      return this.#stored.metadata.commit({ put: { ...subscription, order }, acks, ...tick })
    })
  }

  #registration({ registration }: RegistrationItem): Promise<Outcome> {
    return this.#placed(this.#registrations, registration.id, (order) => {
      const put = { kind: 'put', registration: { ...registration, order } } as const
      return this.#stored.metadata.commitRegistry({ registrations: [put] })
    })
  }

  #availabilitySubscription({ subscription }: AvailabilityItem): Promise<Outcome> {
    return this.#placed(this.#availability, subscription.id, (order) => {
      return this.#stored.metadata.commitRegistry({ put: { ...subscription, order } })
    })
  }

  async #placed<Id>(held: Map<Id, number>, id: Id, store: (order: number) => Promise<void>): Promise<Outcome> {
    const { policy, dry } = this.#settings
    const order = held.get(id)
    if (order !== undefined && policy === 'skip') return { kind: 'skipped' }
    if (order !== undefined && policy === 'fail') return { kind: 'refused', reason: isThere }
    this.#order += 1
    const own = order ?? this.#order
    if (!dry) await store(own)
    held.set(id, own)
    return { kind: order === undefined ? 'created' : 'replaced' }
  }
}
