import { type Flag, flagName, type Ignored, type Refusing } from './flag.js'
import { clusterFlags } from './flags-cluster.js'
import { deliveryFlags } from './flags-delivery.js'
import { runningFlags } from './flags-running.js'
import { servingFlags } from './flags-serving.js'

const mongo = 'there is no MongoDB'
const fresh = 'the index of subscriptions is never out of date'
const forwarding = 'registrations would not be forwarded'

/** Flags of Orion without a meaning here: accepted and logged once, or refused with the reason [management 9.1, 9.3]. */
const foreignFlags = {
  db: ignored(mongo, 'ORION_MONGO_DB', 'name'),
  dbURI: { ...ignored(mongo, 'ORION_MONGO_URI', 'uri'), secret: true },
  dbhost: ignored(mongo, 'ORION_MONGO_HOST', 'host:port'),
  rplSet: ignored(mongo, 'ORION_MONGO_REPLICA_SET', 'name'),
  dbuser: ignored(mongo, 'ORION_MONGO_USER', 'name'),
  dbpwd: { ...ignored(mongo, 'ORION_MONGO_PASSWORD', 'password'), secret: true },
  dbTimeout: ignored(mongo, 'ORION_MONGO_TIMEOUT', 'ms'),
  dbAuthMech: ignored(mongo, 'ORION_MONGO_AUTH_MECH', 'name'),
  dbAuthDb: ignored(mongo, 'ORION_MONGO_AUTH_SOURCE', 'name'),
  dbSSL: ignored(mongo, 'ORION_MONGO_SSL'),
  dbDisableRetryWrites: ignored(mongo, 'ORION_MONGO_DISABLE_RETRY_WRITES'),
  dbCertFile: ignored(mongo, 'ORION_MONGO_CERT_FILE', 'file'),
  notifFlowControl: ignored('receivers are kept apart anyway', 'ORION_NOTIF_FLOW_CONTROL', 'gauge:step:max'),
  subCacheIval: ignored(fresh, 'ORION_SUBCACHE_IVAL', 's'),
  noCache: ignored(fresh, 'ORION_NOCACHE'),
  kafkaTimeout: ignored('there is no Kafka', 'ORION_KAFKA_TIMEOUT', 'ms'),
  kafkaMaxAge: ignored('there is no Kafka', 'ORION_KAFKA_MAX_AGE', 'min'),
  harakiri: { kind: 'ignored', group: 'Accepted and ignored', meaning: 'no request ends the broker' },

  rush: refusing('notifications would not go through the relay', 'host:port'),
  fwdHost: refusing(forwarding, 'host'),
  fwdPort: refusing(forwarding, 'port'),
  ngsi9: refusing(forwarding),
} as const

/** Every flag. Parsing, the help and the usage come from this table alone [management 9]. */
export const flags = { ...servingFlags, ...clusterFlags, ...deliveryFlags, ...runningFlags, ...foreignFlags } as const

/** All flags by name, in the order of the help. */
export const flagsByName: ReadonlyMap<string, Flag> = new Map(
  Object.entries(flags).map(([key, flag]) => [flagName(key), flag]),
)

export function takesValue(flag: Flag): boolean {
  return flag.kind === 'value' || ('takes' in flag && flag.takes !== undefined)
}

function ignored(meaning: string, variable: string, shown?: string): Ignored {
  return { kind: 'ignored', group: 'Accepted and ignored', meaning, variable, ...taking(shown) }
}

function refusing(meaning: string, shown?: string): Refusing {
  return { kind: 'refused', group: 'Network', meaning, ...taking(shown) }
}

function taking(shown: string | undefined): { readonly takes?: { readonly shown: string } } {
  return shown === undefined ? {} : { takes: { shown } }
}
