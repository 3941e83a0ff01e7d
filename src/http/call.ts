import type { IncomingMessage } from 'node:http'
import { type ApiResponse, type Client, isLong } from '../api.js'
import type { PathRange } from '../context/query.js'
import { DamagedRecord } from '../partition/store.js'
import { HeldMemory, headCost_bytes } from '../shared-memory/request-memory.js'
import type { Nanoseconds } from '../time.js'
import { traceArea } from '../trace-area.js'
import type { Permit } from './admission.js'
import { answerHeaders } from './answer-headers.js'
import { announcedBody, type BodyReader, readBody } from './body.js'
import { type Admitted, checkRequest, checkTarget, type Head, isVerb, type RefusedRequest, tooLarge } from './checks.js'
import type { ClientConnection, InProgress } from './connections.js'
import type { PendingResponse } from './departures.js'
import { errorAnswer, overloaded } from './errors.js'
import { correlatorOf, namesHost, single } from './headers.js'
import { RequestLog } from './lines.js'
import { isManagement } from './path-kind.js'
import type { HttpResponse, Reply } from './reply.js'
import { RequestLife, step } from './request-life.js'
import { rejectionOf, type ServerContext } from './server-context.js'
import { Stages } from './stages.js'
import { splitTarget, type Target } from './target.js'
import { runOperation } from './work.js'

const maxHeaders = 200

/** How long the rest of a body that is too long is read, so that the client can read the answer [management 11.7]. */
const drain_ms = 5_000

/** Answers of fewer characters are not counted: there are no more of them than connections. */
const smallAnswer = 65_536

/**
 * One request on its way: head checked, body read, permit got, operation carried out, answer written. What may happen in
 * which order, and that it is answered once, is said by `RequestLife`: each method here that moves the request on takes
 * a step first, and does nothing when the step comes too late. Whatever calls in from outside (parser, timers, promises,
 * the end of a turn) goes through `#guarded`: a fault costs this request and its connection, nothing else.
 */
export class Call implements InProgress, Client, PendingResponse, BodyReader {
  readonly #context: ServerContext
  readonly #connection: ClientConnection
  readonly #incoming: IncomingMessage
  readonly #reply: Reply
  readonly #life = new RequestLife()
  readonly #head: Head
  readonly #correlator: string
  readonly #lines: RequestLog
  readonly #begun: Nanoseconds
  readonly #stages: Stages | undefined
  readonly #memory: HeldMemory
  /** Of a large answer. */
  #answerMemory: HeldMemory | undefined
  /** Nothing when it comes in chunks. */
  readonly #announced_bytes: number | undefined
  readonly #expects: boolean
  #body = ''
  #body_bytes = 0
  #asksForBody = false
  #hasBody = false
  #received: Nanoseconds
  #paths: readonly PathRange[] = []
  #admitted: Admitted | undefined
  #place: Permit | undefined
  #hasTurn = false
  #isWorkedOn = false
  #departure: HttpResponse | undefined
  #whenGone: (() => void)[] | undefined

  constructor(
    context: ServerContext,
    connection: ClientConnection,
    incoming: IncomingMessage,
    target: Target,
    reply: Reply,
  ) {
    this.#context = context
    this.#connection = connection
    this.#incoming = incoming
    this.#reply = reply
    this.#begun = process.hrtime.bigint()
    this.#received = this.#begun
    this.#memory = new HeldMemory(context.memory)
    const { method = '', url = '', headers } = incoming
    const { path, query } = splitTarget(url)
    this.#head = { verb: method, url, query, headers, target }
    this.#correlator = correlatorOf(headers)
    this.#announced_bytes = announcedBody(headers).length
    this.#expects = headers.expect !== undefined && waitsFor100.test(headers.expect) && incoming.httpVersionMinor > 0
    this.#lines = new RequestLog(context.log, context.switches, incoming, this.#correlator, context.transaction)
    this.#stages = context.switches.get('verbosity') >= 3 ? new Stages() : undefined
    this.#lines.head(path)
  }

  get reading(): boolean {
    return this.#life.state === 'body'
  }

  get isLong(): boolean {
    return isLong(this.#body)
  }

  get turn(): 'wanted' | 'undecided' | 'unwanted' {
    const { state } = this.#life
    if (state === 'waiting') return 'wanted'
    return state === 'head' || state === 'body' || state === 'received' ? 'undecided' : 'unwanted'
  }

  get gone(): boolean {
    return this.#life.state === 'gone'
  }

  whenGone(act: () => void): void {
    if (!this.#life.isOpen) return
    this.#whenGone ??= []
    this.#whenGone.push(act)
  }

  hold(bytes: number): boolean {
    return this.#life.isOver || this.#takeForAnswer(bytes)
  }

  #takeForAnswer(bytes: number): boolean {
    this.#answerMemory ??= new HeldMemory(this.#context.answerMemory)
    return this.#answerMemory.take(bytes)
  }

  async aside<Result>(wait: () => Promise<Result>): Promise<Result> {
    if (this.#place === undefined) return wait()
    this.#place.leave()
    try {
      return await wait()
    } finally {
      if (!this.#life.isOver) await new Promise<void>((resolve) => this.#takePlace(resolve))
    }
  }

  /** Checks the head, then reads the body if one is to come. */
  begin(): void {
    this.#context.meter.requestBegun()
    this.#connection.enter(this)
    this.#guarded(() => {
      const { rawHeaders, httpVersionMinor } = this.#incoming
      if (rawHeaders.length > 2 * maxHeaders) this.#notHttp(431)
      else if (!namesHost(rawHeaders, httpVersionMinor)) this.#notHttp(400)
      else if (
        !this.#memory.take(headCost_bytes(this.#head.url, rawHeaders)) &&
        !isManagement(this.#head.target.kind)
      ) {
        this.#noRoom()
      } else this.#checkTarget()
    })
  }

  /** The connection has closed. */
  lost(): void {
    const wasReading = this.reading
    if (!this.#life.take(step.lost)) return
    if (wasReading && this.#traces('http.malformed')) {
      this.#lines.trace('http.malformed', `connection closed after ${this.#body_bytes} bytes of the body`)
    }
    this.#end()
    if (this.gone) for (const act of this.#whenGone ?? []) this.#guarded(act)
  }

  malformed(): boolean {
    if (this.#life.take(step.malformed)) {
      this.#end()
      return true
    }
    return !this.#leavesBody
  }

  inputEnded(): void {
    this.#drained()
  }

  processing(): void {
    const { state } = this.#life
    if ((state !== 'waiting' && state !== 'working') || this.#incoming.httpVersionMinor === 0) return
    this.#guarded(() => this.#reply.processing())
  }

  /** More headers than a request may have, or no host: as malformed HTTP, without a correlator [management 11.5]. */
  #notHttp(status: 400 | 431): void {
    this.#context.meter.rejected(status === 431 ? 'too_large' : 'malformed')
    this.malformed()
    if (this.#reply.isLast) this.#connection.endWith(status)
    else this.#connection.refuseWith(status)
  }

  #checkTarget(): void {
    const paths = checkTarget(this.#context.rules, this.#head)
    if (paths.ok) {
      this.#paths = paths.value
      if (this.#announced_bytes === undefined) this.#readChunks()
      else this.#check(this.#announced_bytes)
    } else this.#turnDown({ answer: paths.error, counted: false })
  }

  /** What comes in chunks is known when it is there: only then is it clear whether there is a body at all. */
  #readChunks(): void {
    // Nothing is read of a request whose verb the parser does not know: it is turned down whatever it has.
    const early = this.#expects || this.#reply.isLast ? checkRequest(this.#context.rules, this.#head, 1) : undefined
    if (early?.ok === false) this.#turnDown(early.error)
    else this.#read()
  }

  #check(body_bytes: number): void {
    const checked = checkRequest(this.#context.rules, this.#head, body_bytes)
    if (!checked.ok) this.#turnDown(checked.error)
    else if (body_bytes === 0 || this.#hasBody) this.#admit(checked.value)
    else if (this.#needsPermit(checked.value) && this.#context.admission.turnsAway()) this.#refuse()
    else {
      this.#admitted = checked.value
      this.#read()
    }
  }

  #read(): void {
    if (!this.#life.take(step.readBody)) return
    this.#asksForBody = true
    if (this.#expects) this.#reply.continue()
    const { rules } = this.#context
    readBody(this.#incoming, rules.maxBody_bytes, this.#announced_bytes, this.#memory, this)
  }

  chunk(bytes: number, received: number): void {
    this.#body_bytes = received
    if (this.#traces('http.body')) this.#lines.trace('http.body', `${bytes} bytes, ${received} so far`)
  }

  complete(body: string, bytes: number): void {
    if (!this.#life.take(step.bodyRead)) return
    try {
      this.#bodyRead(body, bytes)
    } catch (fault) {
      this.#fail(fault)
    }
  }

  #bodyRead(body: string, bytes: number): void {
    this.#hasBody = true
    this.#body = body
    this.#body_bytes = bytes
    if (this.#context.meter.timingOn) this.#received = process.hrtime.bigint()
    this.#stages?.over('read')
    this.#lines.body(body, bytes)
    // What was announced has been checked before it was read.
    if (this.#admitted === undefined) this.#check(bytes)
    else this.#admit(this.#admitted)
  }

  tooLong(received: number): void {
    this.#guarded(() => {
      if (!this.#life.isOpen) return
      const { rules } = this.#context
      const checked = checkRequest(rules, this.#head, received)
      const tooLongAsItIs = { answer: tooLarge(rules, this.#head, received), counted: false }
      this.#turnDown(checked.ok ? tooLongAsItIs : checked.error)
    })
  }

  noRoom(): void {
    this.#guarded(() => this.#noRoom())
  }

  /** So much is being read and waits, over all connections, that there is no memory for this request. */
  #noRoom(): void {
    if (!this.#life.isOpen) return
    this.#context.meter.rejected('memory')
    // Behind others its refusal would itself wait: the client has sent more at once than may be in progress.
    if (this.#connection.crowded) this.#connection.socket.destroy()
    else this.#answer(overloaded(this.#head.target.kind, 'too many bytes of requests are waiting'))
  }

  #turnDown({ answer, counted }: RefusedRequest): void {
    const { meter } = this.#context
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
    const { verb } = this.#head
    if (this.#traces('http.route')) this.#lines.trace('http.route', `${verb} ${route.resource.pattern}`)
    if (operation === undefined) {
      this.#context.meter.counted(route.resource, verb, 'none', false)
      this.#answer({ status: 200 })
    } else if (this.#life.take(step.wait)) {
      this.#admitted = admitted
      if (this.#connection.takesTurn(this)) this.#goOn()
    }
  }

  proceed(): void {
    this.#guarded(() => this.#goOn())
  }

  /** It is this request's turn on its connection; it works when it has a permit, if it needs one. */
  #goOn(): void {
    this.#hasTurn = true
    if (this.#admitted !== undefined && this.#needsPermit(this.#admitted)) {
      this.#takePlace(
        () => this.#workGuarded(),
        () => this.#guarded(() => this.#refuse()),
      )
    } else this.#work()
  }

  /** Work that is done at once has left its place before `ask` returns; leaving twice changes nothing. */
  #takePlace(work: () => void, refused?: () => void): void {
    this.#place = this.#context.admission.ask((given) => {
      this.#place = given
      work()
    }, refused)
  }

  #needsPermit({ operation }: Admitted): boolean {
    const { policy } = this.#context
    if (operation === undefined || isManagement(this.#head.target.kind)) return false
    return policy === 'all' || policy === operation.use
  }

  /** More requests arrive than can be done: this one is told to come back, before it costs more. */
  #refuse(): void {
    this.#answer(overloaded(this.#head.target.kind, 'too many requests are waiting'))
  }

  #workGuarded(): void {
    try {
      this.#work()
    } catch (fault) {
      this.#fail(fault)
    }
  }

  #work(): void {
    const admitted = this.#admitted
    if (admitted?.operation === undefined || !this.#life.take(step.work)) return
    this.#stages?.over('permit')
    this.#isWorkedOn = true
    const { verb, headers, target } = this.#head
    runOperation(this.#context, {
      operation: admitted.operation,
      resource: admitted.route.resource,
      asked: {
        verb: isVerb(verb) ? verb : 'GET',
        segments: admitted.route.segments,
        parameters: admitted.parameters,
        headers,
        paths: this.#paths,
        body: isManagement(target.kind) ? '' : this.#body,
        correlator: this.#correlator,
        client: this,
      },
      payload: this.#payload,
      judged: !isManagement(target.kind),
      lines: this.#lines,
      stages: this.#stages,
      done: (answer) => this.#guarded(() => this.#answer(answer)),
      failed: (fault) => this.#fail(fault),
    })
  }

  /** The work is over with its answer, whether somebody still waits for it or not. */
  #answer(answer: ApiResponse): void {
    if (this.#life.isOpen) {
      this.#stages?.over('operation')
      const body = this.#render(answer)
      if (this.#life.take(step.answer)) this.#send(answer, body)
    }
    this.#place?.leave()
  }

  /** A large answer takes memory until its client has read it. */
  #send(answer: ApiResponse, body: string): void {
    const { kind } = this.#head.target
    const isCounted = body.length > smallAnswer && this.#answerMemory?.isTaken !== true && !isManagement(kind)
    if (!isCounted || this.#takeForAnswer(2 * body.length)) this.#write(answer, body)
    else {
      this.#context.meter.rejected('memory')
      const refusal = overloaded(kind, 'too many large answers are being sent')
      this.#write(refusal, this.#render(refusal))
    }
  }

  #render({ body = '' }: ApiResponse): string {
    if (typeof body === 'string') return body
    const { meter } = this.#context
    const since = meter.timingOn ? process.hrtime.bigint() : undefined
    const text = body()
    if (since !== undefined) meter.stage('render', process.hrtime.bigint() - since)
    this.#stages?.over('render')
    return text
  }

  #write(answer: ApiResponse, body: string): void {
    const { meter, departures } = this.#context
    const { headers: asked, target, verb } = this.#head
    const response_bytes = Buffer.byteLength(body)
    const closes = this.#closes
    const facts = { correlator: this.#correlator, head: this.#head, body, body_bytes: response_bytes, closes }
    const headers = answerHeaders(this.#context, answer, facts)
    if (closes) this.#connection.close()
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
    this.#departure = { status: answer.status, headers, body }
    departures.leave(this)
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

  /** The end of the turn of the event loop in which the answer was ready. */
  depart(): void {
    try {
      const departure = this.#departure
      if (departure === undefined) return
      if (this.#leavesBody && (this.#asksForBody || !this.#expects)) this.#writeAndDrain(departure)
      else if (this.#life.take(step.write)) this.#reply.write(departure, () => this.#handed())
    } catch (fault) {
      this.#fail(fault)
    }
  }

  #writeAndDrain(departure: HttpResponse): void {
    if (!this.#life.take(step.writeAndDrain)) return
    this.#reply.begin(departure)
    this.#connection.readOn()
    if (this.#incoming.readableEnded || this.#connection.socket.readableEnded) {
      this.#drained()
      return
    }
    const { socket } = this.#connection
    const timer = setTimeout(() => this.#drained(), drain_ms)
    const stop = () => clearTimeout(timer)
    socket.once('close', stop)
    this.#incoming.once('end', () => {
      stop()
      socket.off('close', stop)
      this.#drained()
    })
  }

  #drained(): void {
    if (this.#life.take(step.drained)) this.#guarded(() => this.#reply.finish(() => this.#handed()))
  }

  #handed(): void {
    if (this.#life.take(step.handed)) this.#end()
  }

  /** The last answer on the wire says that the connection will be closed: one before it would take the others with it. */
  get #closes(): boolean {
    if (this.#leavesBody || this.#reply.isLast) return true
    return this.#context.stopping && this.#connection.isLatest(this)
  }

  /** Whether the rest of the body is not worth reading, or may never come because the client waits for a 100. */
  get #leavesBody(): boolean {
    if (this.#hasBody || this.#announced_bytes === 0) return false
    if (this.#announced_bytes === undefined || this.#announced_bytes > this.#context.rules.maxBody_bytes) return true
    return this.#asksForBody || this.#expects
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
    try {
      if (fault instanceof DamagedRecord) this.#context.damages.met(fault, this.#lines.context)
      else this.#lines.failed(fault)
      if (this.#life.isOpen) this.#answer(errorAnswer(this.#head.target.kind, 500, 'internal error'))
      else if (!this.#life.isOver) this.#reply.destroy()
    } catch {
      // The first fault has been logged; nothing can be said to the client any more.
      this.#connection.socket.destroy()
    }
    this.#place?.leave()
  }

  #end(): void {
    const { meter, stopping } = this.#context
    // Whoever goes while its work is under way leaves the permit to it: else the next one would work beside it.
    if (!this.#isWorkedOn) this.#place?.leave()
    this.#memory.giveAll()
    this.#answerMemory?.giveAll()
    meter.requestEnded()
    if (meter.timingOn) {
      meter.stage('total', process.hrtime.bigint() - this.#received)
      meter.stagesDone()
    }
    this.#connection.leave(this, this.#hasTurn)
    if (stopping && !this.#connection.busy) this.#connection.finish()
  }

  get #payload(): 'json' | 'none' {
    return this.#payload_bytes > 0 && !isManagement(this.#head.target.kind) ? 'json' : 'none'
  }

  get #payload_bytes(): number {
    return this.#announced_bytes ?? this.#body_bytes
  }

  #traces(area: keyof typeof traceArea): boolean {
    return this.#context.log.traces[traceArea[area]] === 1
  }
}

const waitsFor100 = /(?:^|\W)100-continue(?:$|\W)/i
