import type { ControlRecord } from '../lmdb/control-record.js'
import { decodeAvailability, decodeRegistration } from '../lmdb/control-registry.js'
import { noted } from '../lmdb/notice-write.js'
import type { RegistrationChange, RegistrationId } from '../registration/registration.js'
import type { Subscription, SubscriptionId } from '../subscription/subscription.js'
import type { AvailabilityState } from './availability-subscriptions.js'
import type { Registry } from './registry.js'
import type { Subscriptions } from './subscriptions.js'

/**
 * Brings what a record of the coordinator's log says into force on one of several nodes, whichever of them has written it: in the
 * memory of the coordinator, in all partitions, in the courier, in the front ends. Resolves when all of them have it. Records are
 * given in the order of the log.
 */
export async function enforceChange(
  { writes, notices }: Required<ControlRecord>,
  subscriptions: Pick<Subscriptions, 'enforce' | 'enforceRemoval' | 'notified'>,
  registry: Pick<Registry, 'enforce'>,
): Promise<void> {
  const inForce: Promise<unknown>[] = []
  const registrations: RegistrationChange[] = []
  const availability: AvailabilityState[] = []
  for (const { database, id, text } of writes) {
    if (database === 'subscriptions') {
      const stored = text === undefined ? undefined : (JSON.parse(text) as Subscription)
      inForce.push(stored ? subscriptions.enforce(stored) : subscriptions.enforceRemoval(id as SubscriptionId))
    } else if (database === 'registrations') registrations.push(registrationChange(id as RegistrationId, text))
    else if (database === 'availability') availability.push(availabilityState(id as SubscriptionId, text))
  }
  for (const notice of notices) {
    const { ids, made } = noted(notice)
    for (const id of ids) subscriptions.notified(id, made)
  }
  if (registrations.length + availability.length > 0) inForce.push(registry.enforce(registrations, availability))
  await Promise.all(inForce)
}

function registrationChange(id: RegistrationId, text: string | undefined): RegistrationChange {
  return text === undefined ? { kind: 'remove', id } : { kind: 'put', registration: decodeRegistration(id, text) }
}

function availabilityState(id: SubscriptionId, text: string | undefined): AvailabilityState {
  return { id, subscription: text === undefined ? undefined : decodeAvailability(id, text) }
}
