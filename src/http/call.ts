import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PathRange } from '../context/query.js'
import type { Answer, Asked, Client, Operation, Work } from '../exchange.js'
import type { Outcome } from '../outcome.js'
import type { Nanoseconds } from '../time.js'
import { traceArea } from '../trace-area.js'
import type { Place } from './admission.js'
import { announcedBody, readBody } from './body.js'
import {
  type Admitted,
  checkRequest,
  checkTarget,
  type Head,
  isVerb,
  type Turned,
  tooLarge,
  verbsOf,
} from './checks.js'
import type { Connection, InProgress } from './connections.js'
import { type Desk, rejectionOf } from './desk.js'
import { errorAnswer, reasonOf } from './errors.js'
import { correlatorOf, single } from './headers.js'
import { Lines } from './lines.js'
import { isManagement } from './path-kind.js'
import { Reply } from './reply.js'
import { Stages } from './stages.js'
import { splitTarget } from './target.js'

const maxHeaders = 200

/**
 * One request on its way: head checked, body read, permit got, operation carried out, answer written. It is over once:
 * when its answer has been handed to the socket or its connection has gone.
 */
export class Call implements InProgress, Client {
  readonly #desk: Desk
  readonly #connection: Connection
  readonly #incoming: IncomingMessage
  readonly #reply: Reply
  readonly #head: Head
  readonly #correlator: string
  readonly #lines: Lines
  readonly #begun: Nanoseconds
  readonly #stages: Stages | undefined
  /** Nothing when it comes in chunks. */
  readonly #announced_bytes: number | undefined
  readonly #expects: boolean
  #bodyState: 'unread' | 'reading' | 'read' = 'unread'
  #body = ''
  #body_bytes = 0
  #received: Nanoseconds
  #paths: readonly PathRange[] = []
  #place: Place | undefined
  #working = false
  #answered = false
  #over = false
  #whenGone: (() => void)[] | undefined

  constructor(desk: Desk, connection: Connection, incoming: IncomingMessage, outgoing: ServerResponse) {
    this.#desk = desk
    this.#connection = connection
    this.#incoming = incoming
    this.#reply = new Reply(incoming, outgoing, desk.departures, () => this.#end())
    this.#begun = process.hrtime.bigint()
    this.#received = this.#begun
    const { method = '', url = '', headers } = incoming
    const { path, query } = splitTarget(url)
    this.#head = { verb: method, url, query, headers, target: desk.targets.find(path) }
    this.#correlator = correlatorOf(headers)
    this.#announced_bytes = announcedBody(headers).length
    // Node refuses other expectations itself; HTTP/1.0 has none.
    this.#expects = headers.expect !== undefined && incoming.httpVersionMinor > 0
    this.#lines = new Lines(desk.log, desk.switches, incoming, this.#correlator, desk.transaction)
    this.#stages = desk.switches.get('verbosity') >= 3 ? new Stages() : undefined
    this.#lines.head(path)
  }

  get reading(): boolean {
    return this.#bodyState === 'reading'
  }

  /** Checks the head, then reads the body if one is to come. */
  begin(): void {
    const { rawHeaders, httpVersionMinor, headers } = this.#incoming
    this.#desk.meter.requestBegun()
    this.#connection.enter(this)
    if (rawHeaders.length > 2 * maxHeaders) {
      this.#desk.meter.rejected('too_large')
      this.malformed(431)
    } else if (headers.host === undefined && httpVersionMinor > 0) {
      this.#desk.meter.rejected('malformed')
      this.malformed(400)
    } else this.#guarded(() => this.#checkTarget())
  }

  get gone(): boolean {
    return this.#over && !this.#answered
  }

  whenGone(act: () => void): void {
    if (this.#over) return
    this.#whenGone ??= []
    this.#whenGone.push(act)
  }

  async aside<Result>(wait: () => Promise<Result>): Promise<Result> {
    if (this.#place === undefined) return wait()
    this.#place.leave()
    try {
      return await wait()
    } finally {
      if (!this.#over) await new Promise<void>((resolve) => this.#takePlace(resolve))
    }
  }

  lost(): void {
    if (this.#over) return
    if (this.reading && this.#traces('http.malformed')) {
      this.#lines.trace('http.malformed', `connection closed after ${this.#body_bytes} bytes of the body`)
    }
    this.#end()
    for (const act of this.#whenGone ?? []) this.#guarded(act)
  }

  /** No HTTP, or more headers than a request may have: no body and no correlator [management 11.5]. */
  malformed(status: number): void {
    this.#answered = true
    this.#bodyState = 'read'
    this.#reply.break(status)
  }

  #checkTarget(): void {
    const paths = checkTarget(this.#desk.rules, this.#head)
    if (paths.ok) {
      this.#paths = paths.value
      if (this.#announced_bytes === undefined) this.#readChunks()
      else this.#check(this.#announced_bytes)
    } else this.#turnDown({ answer: paths.refusal, counted: false })
  }

  /** What comes in chunks is known when it is there: only then is it clear whether there is a body at all. */
  #readChunks(): void {
    const early = this.#expects ? checkRequest(this.#desk.rules, this.#head, 1) : undefined
    if (early?.ok === false) this.#turnDown(early.refusal)
    else this.#read(() => this.#check(this.#body_bytes))
  }

  #check(body_bytes: number): void {
    const checked = checkRequest(this.#desk.rules, this.#head, body_bytes)
    if (!checked.ok) this.#turnDown(checked.refusal)
    else if (body_bytes === 0 || this.#bodyState === 'read') this.#admit(checked.value)
    else this.#read(() => this.#admit(checked.value))
  }

  #read(next: () => void): void {
    this.#bodyState = 'reading'
    if (this.#expects) this.#reply.continue()
    const { rules } = this.#desk
    readBody(this.#incoming, rules.maxBody_bytes, {
      chunk: (bytes, received) => {
        this.#body_bytes = received
        if (this.#traces('http.body')) this.#lines.trace('http.body', `${bytes} bytes, ${received} so far`)
      },
      complete: (body, bytes) => {
        if (this.#over || this.#answered) return
        this.#bodyState = 'read'
        this.#body = body
        this.#body_bytes = bytes
        this.#received = process.hrtime.bigint()
        this.#stages?.over('read')
        this.#lines.body(body, bytes)
        this.#guarded(next)
      },
      tooLong: (received) => {
        if (this.#over || this.#answered) return
        const checked = checkRequest(rules, this.#head, received)
        this.#turnDown(checked.ok ? { answer: tooLarge(rules, this.#head, received), counted: false } : checked.refusal)
      },
    })
  }

  #turnDown({ answer, counted }: Turned): void {
    const { meter } = this.#desk
    const rejection = rejectionOf[answer.status]
    if (rejection !== undefined) meter.rejected(rejection)
    if (counted) {
      const { target, verb } = this.#head
      meter.counted(target.route?.resource, verb, this.#payload, target.route !== undefined)
      if (this.#traces('http.route')) this.#lines.trace('http.route', `${verb}: no operation`)
    }
    this.#answer(answer)
  }

  #admit(admitted: Admitted): void {
    const { operation, route } = admitted
    const { meter, policy } = this.#desk
    const { target, verb } = this.#head
    if (this.#traces('http.route')) this.#lines.trace('http.route', `${verb} ${route.resource.pattern}`)
    if (operation === undefined) {
      meter.counted(route.resource, verb, 'none', false)
      this.#answer({ status: 200 })
    } else if (!isManagement(target.kind) && (policy === 'all' || policy === operation.use)) {
      this.#takePlace(() => this.#work(operation, admitted))
    } else this.#work(operation, admitted)
  }

  /** Work that is done at once has left its place before `ask` returns; leaving twice changes nothing. */
  #takePlace(work: () => void): void {
    this.#place = this.#desk.admission.ask((given) => {
      this.#place = given
      work()
    })
  }

  #work(operation: Operation, admitted: Admitted): void {
    this.#stages?.over('permit')
    this.#working = true
    this.#guarded(() => {
      const { meter } = this.#desk
      const since = meter.timingOn && this.#payload === 'json' ? process.hrtime.bigint() : undefined
      const prepared = operation.prepare(this.#asked(admitted))
      if (since !== undefined) meter.stage('jsonV1Parse', process.hrtime.bigint() - since)
      this.#stages?.over('parse')
      if (!(prepared instanceof Promise)) this.#prepared(prepared, admitted)
      else {
        prepared.then(
          (late) => this.#guarded(() => this.#prepared(late, admitted)),
          (fault) => this.#fail(fault),
        )
      }
    })
  }

  #prepared(prepared: Outcome<Work, Answer>, admitted: Admitted): void {
    this.#judgeInput(prepared)
    if (prepared.ok) this.#carryOut(prepared.value, admitted)
    else this.#answer(prepared.refusal)
  }

  /** Whoever sends what can not be understood raises an alarm, which the next good request ends [management 10.7]. */
  #judgeInput(prepared: Outcome<Work, Answer>): void {
    const { alarms } = this.#desk
    if (isManagement(this.#head.target.kind) || (prepared.ok && !alarms.isActive('BadInput'))) return
    const { from } = this.#lines.context
    if (prepared.ok) alarms.over('BadInput', from)
    else alarms.occurred('BadInput', from, reasonOf(prepared.refusal))
  }

  #carryOut(work: Work, { route }: Admitted): void {
    this.#desk.meter.counted(route.resource, this.#head.verb, this.#payload, false)
    const answer = work()
    if (answer instanceof Promise) {
      answer.then(
        (late) => this.#guarded(() => this.#answer(late)),
        (fault) => this.#fail(fault),
      )
    } else this.#answer(answer)
  }

  #asked({ route, parameters }: Admitted): Asked {
    const { verb, headers, target } = this.#head
    return {
      verb: isVerb(verb) ? verb : 'GET',
      segments: route.segments,
      parameters,
      headers,
      paths: this.#paths,
      body: isManagement(target.kind) ? '' : this.#body,
      correlator: this.#correlator,
      client: this,
    }
  }

  /** What only a developer can mend ends the request, nothing else. */
  #guarded(step: () => void): void {
    try {
      step()
    } catch (fault) {
      this.#fail(fault)
    }
  }

  #fail(fault: unknown): void {
    this.#lines.failed(fault)
    if (this.#answered) {
      this.#place?.leave()
      this.#reply.destroy()
    } else this.#answer(errorAnswer(this.#head.target.kind, 500, 'internal error'))
  }

  /** The work is over with its answer, whether somebody still waits for it or not. */
  #answer(answer: Answer): void {
    if (!this.#over && !this.#answered) {
      this.#stages?.over('operation')
      const body = this.#render(answer)
      if (body === undefined) return
      this.#answered = true
      this.#write(answer, body)
    }
    this.#place?.leave()
  }

  /** Nothing when rendering failed, which has been answered then. */
  #render({ body = '' }: Answer): string | undefined {
    if (typeof body === 'string') return body
    const { meter } = this.#desk
    const since = meter.timingOn ? process.hrtime.bigint() : undefined
    try {
      const text = body()
      if (since !== undefined) meter.stage('render', process.hrtime.bigint() - since)
      this.#stages?.over('render')
      return text
    } catch (fault) {
      this.#fail(fault)
      return undefined
    }
  }

  #write(answer: Answer, body: string): void {
    const { meter } = this.#desk
    const { headers: asked, target, verb } = this.#head
    const response_bytes = Buffer.byteLength(body)
    const closes = this.#mustClose
    const headers = this.#headers(answer, body, response_bytes, closes)
    meter.answered({
      resource: target.route?.resource,
      verb,
      status: answer.status,
      request_bytes: this.#payload_bytes,
      response_bytes,
      duration: process.hrtime.bigint() - this.#begun,
      service: single(asked['fiware-service']),
      servicePath: single(asked['fiware-servicepath']),
    })
    if (closes && !this.#expects) this.#reply.sendAndDrain(answer.status, headers, body)
    else this.#reply.send(answer.status, headers, body)
    this.#lines.answered(
      {
        status: answer.status,
        headers,
        requestBody: this.#body,
        request_bytes: this.#payload_bytes,
        responseBody: body,
        response_bytes,
        stages: this.#stages?.facts ?? {},
      },
      target.kind === 'health',
    )
  }

  #headers(answer: Answer, body: string, response_bytes: number, closes: boolean): string[] {
    const headers = ['Fiware-Correlator', this.#correlator]
    if (body !== '') headers.push('Content-Type', answer.contentType ?? 'application/json')
    if (answer.status !== 204) headers.push('Content-Length', String(response_bytes))
    for (const name in answer.headers) headers.push(name, answer.headers[name] ?? '')
    const { cors } = this.#desk.rules
    if (cors.on) headers.push(...this.#corsHeaders(answer.status))
    // The last answer on the wire says it: one before it would take the others with it.
    if (closes || (this.#desk.stopping && this.#connection.isLatest(this))) headers.push('Connection', 'close')
    return headers
  }

  #corsHeaders(status: number): readonly string[] {
    const { target, verb, headers } = this.#head
    const verbs = target.route === undefined ? [] : verbsOf(target.route.resource)
    const added = this.#desk.rules.cors.headers({ kind: target.kind, verb, status, origin: headers.origin, verbs })
    if (this.#traces('http.cors')) this.#lines.trace('http.cors', `${headers.origin}: ${added.join(' ')}`)
    return added
  }

  /** Whether the rest of the body is not worth reading, or may never come because the client waits for a 100. */
  get #mustClose(): boolean {
    if (this.#bodyState === 'read' || this.#announced_bytes === 0) return false
    if (this.#announced_bytes === undefined || this.#announced_bytes > this.#desk.rules.maxBody_bytes) return true
    return this.#expects && this.#bodyState === 'unread'
  }

  #end(): void {
    if (this.#over) return
    this.#over = true
    const { meter, stopping } = this.#desk
    // Whoever goes while its work is under way leaves the permit to it: else the next one would work beside it.
    if (!this.#working) this.#place?.leave()
    meter.requestEnded()
    if (meter.timingOn) {
      meter.stage('total', process.hrtime.bigint() - this.#received)
      meter.stagesDone()
    }
    this.#connection.leave(this)
    if (stopping && !this.#connection.busy) this.#connection.finish()
  }

  get #payload(): 'json' | 'none' {
    return this.#payload_bytes > 0 && !isManagement(this.#head.target.kind) ? 'json' : 'none'
  }

  get #payload_bytes(): number {
    return this.#announced_bytes ?? this.#body_bytes
  }

  #traces(area: keyof typeof traceArea): boolean {
    return this.#desk.log.traces[traceArea[area]] === 1
  }
}
