import { type Reader, readMap, readMembers, readNumber, readOptional } from '../raw.js'

/** The requests of a tenant in a path, since the metrics were reset. */
export interface ServiceRow {
  readonly tenant: string
  readonly path: string
  readonly requests: number
  readonly errors: number
  readonly mean_s: number
  readonly in_bytes: number
  /** Notifications and requests that were passed on. */
  readonly sent: number
}

const counts = readMembers({
  incomingTransactions: readOptional(readNumber),
  incomingTransactionErrors: readOptional(readNumber),
  incomingTransactionRequestSize: readOptional(readNumber),
  serviceTime: readOptional(readNumber),
  outgoingTransactions: readOptional(readNumber),
})

const metrics = readMembers({ services: readMap(readMembers({ subservs: readMap(counts) })) })

/** Reads `/admin/metrics`; what is zero is missing there. */
export const readServices: Reader<readonly ServiceRow[]> = (raw) =>
  [...metrics(raw).services].flatMap(([tenant, { subservs }]) =>
    [...subservs].map(([path, each]) => ({
      tenant,
      path,
      requests: each.incomingTransactions ?? 0,
      errors: each.incomingTransactionErrors ?? 0,
      mean_s: each.serviceTime ?? 0,
      in_bytes: each.incomingTransactionRequestSize ?? 0,
      sent: each.outgoingTransactions ?? 0,
    })),
  )
