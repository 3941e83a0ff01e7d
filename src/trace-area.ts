/** The areas of the broker that have trace levels, by name [management 2.5]. */
export const traceArea = {
  'http.connection': 20,
  'storage.txn': 103,
  statistics: 240,
  metrics: 241,
  admin: 242,
} as const

export type TraceArea = keyof typeof traceArea
