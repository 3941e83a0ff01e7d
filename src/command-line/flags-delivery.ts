import { destinationList } from './destination-list.js'
import { flagsOf } from './flag.js'
import { integer, type NotificationMode, notificationMode, oneOf } from './flag-values.js'

const delivery = flagsOf('Notifications and forwarding')
const ngsi2 = flagsOf('Notifications and forwarding', { later: true })
const limits = flagsOf('HTTP limits')
const persistent: NotificationMode = { kind: 'persistent' }

/** The flags of subscriptions, notifications and forwarded requests [management 9.3, subscriptions 5.5]. */
export const deliveryFlags = {
  outReqMsgMaxSize: limits.value(
    integer(0),
    8_388_608,
    'ORION_OUT_REQ_MSG_MAX_SIZE',
    'bytes of a forwarded request, head included',
  ),
  httpTimeout: delivery.value(
    integer(-1, 1_800_000),
    -1,
    'ORION_HTTP_TIMEOUT',
    'ms of an attempt to notify and of a forwarded request; -1 and 0: 5000',
  ),
  notificationMode: delivery.other(
    notificationMode,
    [persistent, 'persistent'],
    'ORION_NOTIF_MODE',
    'how connections to receivers are used; permanent is persistent',
  ),
  simulatedNotification: delivery.onOff('ORION_DROP_NOTIF', 'count notifications instead of sending them'),
  disableCustomNotifications: ngsi2.onOff('ORION_DISABLE_CUSTOM_NOTIF', 'httpCustom is taken as http'),
  insecureNotif: delivery.onOff('ORION_INSECURE_NOTIF', 'accept certificates of unknown authorities'),
  cprForwardLimit: delivery.value(integer(0), 1000, 'ORION_CPR_FORWARD_LIMIT', 'requests forwarded per request'),
  forwardMax: delivery.value(
    integer(1, 1_000_000),
    1000,
    'RIGEL_FORWARD_MAX',
    'requests of clients that wait for context providers at a time',
  ),
  forwardPerProvider: delivery.other<number | undefined>(
    integer(1, 1_000_000),
    [undefined, 'half of -forwardMax'],
    'RIGEL_FORWARD_PER_PROVIDER',
    'of these, those that wait for one provider (protocol, host and port)',
  ),
  cprAnswerMaxSize: delivery.value(
    integer(1, 1_073_741_824),
    4_194_304,
    'RIGEL_CPR_ANSWER_MAX_SIZE',
    'bytes of the answers of providers per request, together',
  ),
  notifRetention: delivery.value(
    integer(1, 31_536_000),
    86400,
    'RIGEL_NOTIF_RETENTION',
    's until a notification that is not accepted is dropped',
  ),
  notifQueueMax: delivery.value(
    integer(1, 10_000_000),
    100_000,
    'RIGEL_NOTIF_QUEUE_MAX',
    'notifications that wait per subscription',
  ),
  notifQueueMaxMb: delivery.value(
    integer(1, 1_048_576),
    4096,
    'RIGEL_NOTIF_QUEUE_MAX_MB',
    'MB that wait in all, 1024 notifications for each',
  ),
  notifMaxSize: delivery.other(
    integer(0),
    [undefined, 'that of -outReqMsgMaxSize'],
    'RIGEL_NOTIF_MAX_SIZE',
    'bytes of a notification, head included',
  ),
  notifRetryMin: delivery.value(integer(1, 3_600_000), 500, 'RIGEL_NOTIF_RETRY_MIN', 'ms of the first pause'),
  notifRetryMax: delivery.other<number | undefined>(
    integer(1, 86_400_000),
    [undefined, '60000'],
    'RIGEL_NOTIF_RETRY_MAX',
    'ms of the longest pause; not less than the first',
  ),
  notifPerReceiver: delivery.value(integer(1, 1024), 8, 'RIGEL_NOTIF_PER_RECEIVER', 'attempts at a time per receiver'),
  notifTotal: delivery.value(integer(1, 65536), 256, 'RIGEL_NOTIF_TOTAL', 'attempts at a time in all'),
  notifMemory: delivery.value(
    integer(1, 1_000_000),
    64,
    'RIGEL_NOTIF_MEMORY',
    'MiB of the notifications that are being sent, of one receiver a quarter',
  ),
  notifAccept: delivery.value(oneOf('2xx', 'any'), '2xx', 'RIGEL_NOTIF_ACCEPT', 'status of a receiver that accepts'),
  notifAllow: delivery.optional(destinationList, 'RIGEL_NOTIF_ALLOW', 'where notifications may go, and nowhere else'),
  notifDeny: delivery.optional(destinationList, 'RIGEL_NOTIF_DENY', 'where they may not go, whatever is allowed'),
  initialNotificationLimit: delivery.value(
    integer(0, 1000),
    20,
    'RIGEL_INITIAL_NOTIFICATION_LIMIT',
    'entities in an initial notification; 0: none is sent',
  ),
  subscriptionsMax: delivery.value(
    integer(1, 10_000_000),
    100_000,
    'RIGEL_SUBSCRIPTIONS_MAX',
    'subscriptions, and availability subscriptions, of 1 KiB each on average',
  ),
  subscriptionPatternSteps: delivery.value(
    integer(1, 1_000_000_000),
    4_000_000,
    'RIGEL_SUBSCRIPTION_PATTERN_STEPS',
    'steps, of about 10 ns, to match the longest id with all patterns of the subscriptions of a tenant',
  ),
  subscriptionsPerEntity: delivery.value(
    integer(1, 10_000_000),
    50_000,
    'RIGEL_SUBSCRIPTIONS_PER_ENTITY',
    'subscriptions that may be about one entity: to its id, or of its tenant to patterns or all ids',
  ),
  registrationsMax: delivery.value(
    integer(1, 10_000_000),
    100_000,
    'RIGEL_REGISTRATIONS_MAX',
    'registrations, of 1 KiB each on average',
  ),
  subscriptionGrace: delivery.value(
    integer(0, 36500),
    30,
    'RIGEL_SUBSCRIPTION_GRACE',
    'days that what is expired is kept; 0: for ever',
  ),
} as const
