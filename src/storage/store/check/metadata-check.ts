import { join } from 'node:path'
import type { Registration, RegistrationId } from '../../../model/registration/registration.js'
import type { Subscription, SubscriptionId } from '../../../model/subscription/subscription.js'
import type { EnvironmentSettings } from '../../environment/environment.js'
import { openDatabase, openRoot } from '../../environment/environment.js'
import { factOf, memberFact } from '../../folder/member.js'
import { onlyPart } from '../../records/keys.js'
import { decodeAvailability, decodeRegistration } from '../metadata-registry.js'
import { openOutbox } from '../outbox.js'
import type { Findings } from './findings.js'
import { checkOutbox } from './outbox-check.js'

/** The numbers of records in the metadata store. */
export interface MetadataCounts {
  readonly subscriptions: number
  readonly registrations: number
  readonly records: number
}

/** Checks the coordinator's environment: that all of it can be read as a start reads it. */
export async function checkMetadata(
  path: string,
  folder: string,
  settings: EnvironmentSettings,
  findings: Findings,
): Promise<MetadataCounts> {
  const root = openRoot(path, settings)
  const file = join(path, 'data.mdb')
  const each = (name: string, what: string, read: (id: string, text: string) => unknown): number => {
    let count = 0
    for (const { key, value } of openDatabase(root, name).getRange({})) {
      count += 1
      const id = String(onlyPart(key))
      findings.attempt(`${file} ${name}`, [id], `${what} cannot be read`, () => read(id, value))
    }
    return count
  }
  try {
    const outbox = openOutbox(root)
    if (outbox.facts.get(memberFact) !== factOf({ name: 'control' }, folder)) {
      findings.add(
        file,
        memberFact,
        `it says ${outbox.facts.get(memberFact)} instead of ${factOf({ name: 'control' }, folder)}`,
      )
    }
    const subscriptions = each('subscriptions', 'the subscription', (id, text) => isSubscription(id, text))
    const registrations = each('registrations', 'the registration', (id, text) =>
      isRegistration(decodeRegistration(id as RegistrationId, text)),
    )
    const availability = each('availability', 'the subscription to availability', (id, text) =>
      decodeAvailability(id as SubscriptionId, text),
    )
    const ticks = each('ticks', 'the last tick', (_, text) => {
      if (!Number.isSafeInteger(Number(text))) throw new Error(`${text} is no number`)
    })
    const records = subscriptions + registrations + availability + ticks + checkOutbox(outbox, path, findings)
    return { subscriptions: subscriptions + availability, registrations, records }
  } finally {
    await root.close()
  }
}

/** Throws when a text is not that of the subscription with this id. */
function isSubscription(id: string, text: string): void {
  const stored = JSON.parse(text) as Partial<Subscription>
  if (stored.id !== id) throw new Error(`it is that of subscription ${stored.id}`)
  const areThere =
    typeof stored.order === 'number' &&
    typeof stored.tenant === 'string' &&
    typeof stored.reference === 'string' &&
    typeof stored.expires === 'number' &&
    Array.isArray(stored.selectors) &&
    Array.isArray(stored.attributes)
  if (!areThere) throw new Error('parts of it are missing')
}

function isRegistration({ order, tenant, path, expires }: Registration): void {
  const isOne = typeof order === 'number' && typeof tenant === 'string' && typeof path === 'string'
  if (!isOne || typeof expires !== 'number') throw new Error('parts of it are missing')
}
