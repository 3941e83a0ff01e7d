/** The areas of the broker that have trace levels, by name [management 2.5]. */
export const traceArea = {
  'http.connection': 20,
  'http.route': 21,
  'http.url': 22,
  'http.request': 23,
  'http.headers': 24,
  'http.listen': 25,
  'http.headers.unknown': 26,
  'http.malformed': 27,
  'http.response': 28,
  'http.body': 29,
  'http.params': 31,
  'http.servicepath': 32,
  'http.cors': 34,
  'http.tls': 35,
  'http.ip': 36,
  'http.transaction': 38,
  'http.payload': 39,
  'service.admission': 67,
  'storage.txn': 103,
  'payload.in': 180,
  'payload.out': 181,
  'wait.request': 200,
  security: 245,
} as const

export type TraceArea = keyof typeof traceArea
