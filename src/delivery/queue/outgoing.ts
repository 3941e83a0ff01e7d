import { reasonOfFault } from '../http-client/response-handler.js'

/** A message as it goes out, over HTTP or MQTT. */
export type Outgoing = HttpMessage | MqttMessage

export interface HttpMessage {
  readonly kind: 'http'
  readonly url: string
  /** Names and values in turn, without those that every request has to its host. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** POST unless it is given. */
  readonly method?: string | undefined
  /** Time limit of the attempt, where it is not that of all. */
  readonly timeout_ms?: number | undefined
  /** What is kept of the bodies of responses: of the last one, and of the redirects before it. */
  readonly response?: ResponseReader | undefined
}

export interface ResponseReader {
  /** How much of a body is kept. */
  readonly kept_bytes: number
  /** Called when a body has ended or was cut off, unless it is empty. */
  readonly take: (body: BodyStart, isLast: boolean) => void
}

/** The start of a body. */
export interface BodyStart {
  /** A character for each byte that was kept. */
  readonly start: string
  /** The length of the body, as far as it has come. */
  readonly bytes: number
}

/** One message to a topic [NGSIv2 subscriptions 7.1]. */
export interface MqttMessage {
  readonly kind: 'mqtt'
  /** `mqtt://host:port`, 1883 without a port. */
  readonly url: string
  readonly user?: string | undefined
  readonly password?: string | undefined
  readonly topic: string
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  readonly body: Buffer
}

/** What is raised when an attempt fails, by the kind of the message [management 10.7]. */
export type AttemptAlarm = 'NotificationError' | 'MqttConnectionError'

/** Where a message goes, as logs and alarms name it: the URL, or host and port of an MQTT broker [management 10.4, 10.7]. */
export function receiverName({ kind, url }: Pick<Outgoing, 'kind' | 'url'>): string {
  if (kind === 'http' || !URL.canParse(url)) return url
  const { hostname, port } = new URL(url)
  return `${hostname}:${port === '' ? mqttPort : port}`
}

/** The port of an MQTT broker whose URL names none. */
const mqttPort = 1883

/** Where messages are published, and as whom. There is one connection for each [NGSIv2 subscriptions 7.1]. */
export interface MqttEndpoint {
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  readonly user: string | undefined
  readonly password: string | undefined
}

/** The endpoint that a URL and credentials stand for; nothing for what is no URL of MQTT. */
export function mqttEndpoint({
  url,
  user,
  password,
}: Pick<MqttMessage, 'url' | 'user' | 'password'>): MqttEndpoint | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'mqtt:' || hostname === '') return undefined
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, port: port === '' ? mqttPort : Number(port), user, password }
}

/** A name of an endpoint that no other one has. */
export function endpointName({ host, port, user, password }: MqttEndpoint): string {
  return JSON.stringify([host, port, user, password])
}

/** How an attempt to deliver ended [subscriptions 5.3]. */
export type AttemptOutcome = Accepted | Failed

export interface Accepted {
  readonly kind: 'accepted'
  /** Of the response; MQTT has none. */
  readonly status?: number
}

export interface Failed {
  /** `trouble`: the receiver may do better later; `refused`: it does not want this notification. */
  readonly kind: 'trouble' | 'refused'
  /** A few words, or the status: `timeout`, `404`. */
  readonly reason: string
  /** Of the response, if there was one. */
  readonly status?: number
  /** How long the receiver asked to be left alone. */
  readonly retryAfter_ms?: number
}

/** Why nothing of a notice was sent: it is not in its outbox any more, or it can not be sent. */
export interface Unsendable {
  readonly kind: 'missing' | 'unsendable'
  /** What is to be warned of, if it was not told yet. */
  readonly reason?: string
}

/** What counts as accepted: the statuses of success, or every complete response head [subscriptions 5.3]. */
export type Acceptance = '2xx' | 'any'

export function trouble(reason: string): Failed {
  return { kind: 'trouble', reason }
}

export function refusal(reason: string): Failed {
  return { kind: 'refused', reason }
}

/** As operators read it: `trouble: timeout`, `refused: 404` [subscriptions 5.7]. */
export function reasonText({ kind, reason }: Failed): string {
  return `${kind}: ${reason}`
}

const troubleStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** What a final status means; one of a redirect that cannot be followed is refused [subscriptions 5.3]. */
export function outcomeOf(status: number, accept: Acceptance, retryAfter_ms?: number): AttemptOutcome {
  if (accept === 'any' || (status >= 200 && status <= 299)) return { kind: 'accepted', status }
  const kind = troubleStatuses.has(status) || (status >= 500 && status <= 599) ? 'trouble' : 'refused'
  return { kind, reason: String(status), status, ...(retryAfter_ms !== undefined && { retryAfter_ms }) }
}

/** Milliseconds from a Retry-After header, in seconds or as a date; nothing when it is neither [subscriptions 5.4]. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const date = /^[A-Z][a-z]+, /.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** What it means that there is no response. */
export function outcomeOfFault(fault: unknown): Failed {
  const { reason, permanent } = reasonOfFault(fault)
  return permanent ? refusal(reason) : trouble(reason)
}
