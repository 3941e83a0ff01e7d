import { flagsOf, named } from './flag.js'
import { address, integer, oneOf, rateLimits, sharedOrigin, textFlag } from './flag-values.js'

const network = flagsOf('Network')
const limits = flagsOf('HTTP limits')
const storage = flagsOf('Storage')
const api = flagsOf('API behaviour')

/** The longest time of Node's timers. */
const longestTimer_ms = 2 ** 31 - 1

/** The flags of what is served, where, from what and within which limits [management 9.3, 9.4]. */
export const servingFlags = named({
  port: network.value(integer(1, 65535), 1026, 'port of the interface', 'ORION_PORT'),
  localIp: network.other(address, [undefined, 'all'], 'address to listen on, IPv4 or IPv6', 'ORION_LOCALIP'),
  ipv4: network.onOff('listen on IPv4 only', 'ORION_USEIPV4'),
  ipv6: network.onOff('listen on IPv6 only', 'ORION_USEIPV6'),
  https: network.onOff('HTTPS instead of HTTP; needs -key and -cert', 'ORION_HTTPS'),
  key: network.optional(textFlag('file'), 'private key for HTTPS (PEM)', 'ORION_HTTPS_KEYFILE'),
  cert: network.optional(textFlag('file'), 'certificate for HTTPS (PEM)', 'ORION_HTTPS_CERTFILE'),
  corsOrigin: network.optional(
    sharedOrigin,
    'origin whose pages may use the broker from a browser; __ALL: every origin',
    'ORION_CORS_ALLOWED_ORIGIN',
  ),
  corsMaxAge_s: network.value(
    integer(-1, 86400),
    86400,
    'seconds for which browsers remember that an origin is allowed',
    'ORION_CORS_MAX_AGE',
  ),
  httpThreads: network.other(
    integer(1, 64),
    [undefined, 'half the processors, 1 to 8'],
    'threads that accept and answer HTTP',
  ),

  reqTimeout_s: limits.value(
    integer(0),
    0,
    'seconds until an idle connection is closed; 0: never',
    'ORION_REQ_TIMEOUT',
  ),
  connectionMemory_KiB: limits.value(integer(1, 1024), 64, 'largest head of a request, in KiB', 'ORION_CONN_MEMORY'),
  maxConnections: limits.value(
    integer(1),
    1020,
    'most open connections; beyond that the longest idle one is closed',
    'ORION_MAX_CONN',
  ),
  connectionRequests: limits.value(integer(1, 10_000), 16, 'requests of one connection in progress; further ones wait'),
  idleTimeout_s: limits.value(integer(0), 300, 'seconds until a connection without a request is closed; 0: never'),
  bodyTimeout_s: limits.value(
    integer(0),
    60,
    'seconds for the body of a request, and one more for each 4 KiB of it; 0: no limit',
  ),
  sendTimeout_s: limits.value(
    integer(0),
    60,
    'seconds until a client that takes nothing of its response is cut off; 0: never',
  ),
  requestMemory_MiB: limits.value(
    integer(1, 1_000_000),
    64,
    'MiB of the heads and bodies of all requests that are not answered',
  ),
  answerMemory_MiB: limits.value(integer(1, 1_000_000), 256, 'MiB of all large responses that have not been sent'),
  reqPoolSize: limits.value(
    integer(0, 1024),
    0,
    'most requests whose work is under way at a time; 0: 256',
    'ORION_TRQ_POOL_SIZE',
  ),
  reqMutexPolicy: limits.value(
    oneOf('all', 'read', 'write', 'none'),
    'all',
    'operations that this limit is for',
    'ORION_MUTEX_POLICY',
  ),
  reqMaxWait_ms: limits.value(
    integer(0, 600_000),
    1000,
    'ms that a request waits for its turn at most, a hundredth of it in overload; 0: no limit',
  ),
  inReqPayloadMaxSize: limits.value(
    integer(0),
    1_048_576,
    'largest body of a request, in bytes',
    'ORION_IN_REQ_PAYLOAD_MAX_SIZE',
  ),

  dbPath: storage.value(textFlag('directory'), './rigel-data', 'folder of the data; made if missing'),
  partitions: storage.other(
    integer(1, 256),
    [undefined, 'half the processors, 1 to 8; of a cluster 12, or what it has'],
    'partitions of a new data folder; an existing one keeps its number',
  ),
  dbPoolSize: storage.value(integer(1, 10000), 10, 'read handles of each partition', 'ORION_MONGO_POOL_SIZE'),
  dbSizeMax_MiB: storage.value(integer(16, 8_388_608), 65536, 'largest size of a partition on disk, in MiB'),
  expirationSweep_s: storage.value(integer(1, 3600), 60, 'seconds between two removals of entities that have expired'),
  dbFreeMin_MiB: storage.value(
    integer(0, 1_048_576),
    64,
    'MiB of the disk that are kept free: below that only removals are accepted',
  ),
  dbCheckSize_MiB: storage.value(
    integer(0, 16_777_216),
    64,
    'MiB of data of which every page is checked at the start; of more, those that lead to others',
  ),
  writeConcern: storage.value(
    integer(0, 1),
    1,
    'an update is answered when it is 1: on disk; 0: on its way there, so that a loss of power takes the updates of the last moments',
    'ORION_MONGO_WRITE_CONCERN',
  ),
  mailboxSize: storage.value(integer(1, 1_000_000), 100_000, 'most commands that wait for a partition'),
  entityMaxSize: storage.other<number | undefined>(
    integer(1024, 67_108_864),
    [undefined, '1048576, or -inReqPayloadMaxSize where that is more'],
    'characters of an entity as it is stored, with those of other types of its id',
  ),
  typesPerId: storage.value(
    integer(1, 100_000),
    1000,
    'entities of one id in one service path, one of each type; what is stored already stays',
  ),
  entityCache_MiB: storage.value(
    integer(0, 65536),
    64,
    'MiB of records and decoded large entities that each partition keeps in memory',
  ),
  readCache_MiB: storage.value(integer(0, 65536), 64, 'MiB of entities that each HTTP thread keeps decoded for reads'),
  pageMaxSize: storage.value(
    integer(1024, 1_073_741_824),
    33_554_432,
    'bytes of the results of one read, as they are stored',
  ),
  queryThreads: storage.value(integer(1, 64), 1, 'threads for long queries, per HTTP thread'),
  queryQueueSize: storage.value(integer(1, 100_000), 1000, 'queries that wait for such a thread, per HTTP thread'),
  queryTimeout_ms: storage.value(integer(1, longestTimer_ms), 30_000, 'ms of a long query, waiting included'),

  multiservice: api.onOff('keep the tenants of Fiware-Service apart', 'ORION_MULTI_SERVICE'),
  strictNgsiv1Ids: api.onOff('more checks of ids in NGSIv1', 'ORION_CHECK_ID_V1'),
  apiKeys: api.optional(textFlag('file'), 'hashes of the keys that clients need; rigel key makes them'),
  rateLimit: api.optional(rateLimits, 'requests per second of each tenant; then 429'),
  ngsiv1Autocast: api.onOff('NGSIv1 updates store numbers and booleans as such', 'ORION_NGSIV1_AUTOCAST'),
} as const)
