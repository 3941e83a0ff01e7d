import type { ServiceMetrics } from '../../shapes.js'

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

/** The rows of `/admin/metrics`. */
export function servicesOf({ services }: ServiceMetrics): readonly ServiceRow[] {
  return Object.entries(services).flatMap(([tenant, { subservs }]) =>
    Object.entries(subservs).map(([path, each]) => ({
      tenant,
      path,
      requests: each.incomingTransactions ?? 0,
      errors: each.incomingTransactionErrors ?? 0,
      mean_s: each.serviceTime ?? 0,
      in_bytes: each.incomingTransactionRequestSize ?? 0,
      sent: each.outgoingTransactions ?? 0,
    })),
  )
}
