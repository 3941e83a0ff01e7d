import type { IncomingMessage } from 'node:http'
import { type ApiResponse, type Client, isLong } from '../broker/operations/api.js'
import { DamagedRecord } from '../faults.js'
import { StageSums } from '../observe/measure/requests.js'
import type { OperationTimes } from '../observe/measure/slow-requests.js'
import type { StepSubject } from '../observe/measure/steps.js'
import { HeldMemory, headCost_bytes } from '../threads/shared-memory/request-memory.js'
import type { Permit } from './admission.js'
import { type Admitted, isVerb, type RefusedRequest } from './checks.js'
import type { BareStatus, ClientConnection, InProgress } from './connections.js'
import { namesHost, readHead } from './headers.js'
import { runOperation } from './operation-run.js'
import { type RequestParts, type RequestSteps, rejectionOf, type ServerContext, Stages } from './request-context.js'
import { RequestLife, step } from './request-life.js'
import { RequestLog } from './request-log.js'
import { RequestReader } from './request-reader.js'
import { ResponseSender } from './response-sender.js'
import type { ResponseWriter } from './response-writer.js'
import { errorResponse, overloaded, reasonOf } from './responses.js'
import { interfaceOf, kinds, type Target } from './target.js'

const maxHeaders = 200

/** Steps of requests whose bodies are at least this long are timed one by one. */
const timed_bytes = 4096

/**
 * Requests whose targets and bodies together are at least this long share the turns of the event loop: each of them may take
 * some milliseconds, and hundreds of connections can send one at the same time.
 */
const large_bytes = 2048

/**
 * One request: its head is checked and its body read (`RequestReader`), it gets its turn and a permit, its operation is
 * carried out, and its response is written (`ResponseSender`). `RequestLife` says what may happen in which order, and that
 * there is one response: each method that moves the request on takes a step first, and does nothing when the step comes
 * too late. Whatever calls in from outside (parser, timers, promises, the end of a turn) goes through `guarded`: a fault
 * costs this request and its connection, nothing else.
 */
export class HttpRequest implements InProgress, Client, StepSubject, RequestSteps {
  readonly #parts: RequestParts
  readonly #life = new RequestLife()
  readonly #memory: HeldMemory
  readonly #reader: RequestReader
  readonly #sender: ResponseSender
  #admitted: Admitted | undefined
  #permit: Permit | undefined
  /** Its permit is given back while it waits for something: who waits for more meanwhile has none to give. */
  #isAside = false
  #hasTurn = false
  #isWorkedOn = false
  #whenGone: (() => void)[] | undefined

  constructor(
    context: ServerContext,
    connection: ClientConnection,
    incoming: IncomingMessage,
    target: Target,
    writer: ResponseWriter,
  ) {
    const begun = process.hrtime.bigint()
    const head = readHead(incoming, target)
    const log = new RequestLog(context, incoming, { correlator: head.correlator, peer: connection.peer })
    const { switches } = context
    const isTimed = switches.get('verbosity') >= 3 || switches.get('slowAbove_ms') > 0
    const stages = isTimed ? new Stages() : undefined
    const timed = context.meter.timingOn ? new StageSums() : undefined
    this.#parts = { context, connection, incoming, head, writer, life: this.#life, log, stages, timed, begun }
    this.#memory = new HeldMemory(context.memory)
    this.#reader = new RequestReader(this.#parts, this.#memory, this)
    this.#sender = new ResponseSender(this.#parts, this.#reader, this)
    log.head(head.path)
  }

  get reading(): boolean {
    return this.#life.state === 'body'
  }

  get isLong(): boolean {
    return isLong(this.#reader.body)
  }

  get isChange(): boolean {
    const { operation, parameters } = this.#admitted ?? {}
    return operation?.use === 'write' || (parameters !== undefined && operation?.changes?.(parameters) === true)
  }

  get turn(): 'wanted' | 'undecided' | 'unwanted' {
    const { state } = this.#life
    if (state === 'waiting') return 'wanted'
    return state === 'head' || state === 'body' || state === 'received' ? 'undecided' : 'unwanted'
  }

  get isLatest(): boolean {
    return this.#parts.connection.isLatest(this)
  }

  get gone(): boolean {
    return this.#life.state === 'gone'
  }

  get isTrusted(): boolean {
    const { context, head } = this.#parts
    return context.rules.isTrusted(head)
  }

  get times(): OperationTimes | undefined {
    return this.#parts.stages?.times
  }

  get timed(): StageSums | undefined {
    return this.#parts.timed
  }

  whenGone(act: () => void): void {
    if (!this.#life.isOpen) return
    this.#whenGone ??= []
    this.#whenGone.push(act)
  }

  hold(bytes: number): boolean {
    return this.#life.isOver || this.#sender.hold(bytes)
  }

  async aside<Result>(wait: () => Promise<Result>): Promise<Result> {
    if (this.#permit === undefined || this.#isAside) return wait()
    this.#isAside = true
    this.#permit.leave()
    try {
      return await wait()
    } finally {
      this.#isAside = false
      if (!this.#life.isOver) await new Promise<void>((resolve) => this.#takePermit(resolve))
    }
  }

  begin(): void {
    const { context, connection, incoming, head } = this.#parts
    context.meter.requestBegun()
    connection.enter(this)
    this.guarded(() => {
      const { rawHeaders, httpVersionMinor } = incoming
      if (rawHeaders.length > 2 * maxHeaders) this.#notHttp(431)
      else if (!namesHost(rawHeaders, httpVersionMinor)) this.#notHttp(400)
      else if (this.#memory.take(headCost_bytes(head.url, rawHeaders)) || kinds[head.target.kind].isManagement) {
        this.#reader.begin()
      } else this.#noRoomForHead()
    })
  }

  lost(): void {
    const { log } = this.#parts
    const wasReading = this.reading
    if (!this.#life.take(step.lost)) return
    if (wasReading && log.isTraced('http.malformed')) {
      log.trace('http.malformed', `connection closed after ${this.#reader.body_bytes} bytes of the body`)
    }
    this.end()
    if (this.gone) for (const act of this.#whenGone ?? []) this.guarded(act)
  }

  malformed(status: BareStatus | undefined): boolean {
    if (this.#life.take(step.malformed)) {
      this.end(status)
      return true
    }
    return !this.#reader.leavesBody
  }

  inputEnded(): void {
    this.#sender.inputEnded()
  }

  processing(): void {
    const { state } = this.#life
    const { incoming, writer } = this.#parts
    if ((state !== 'waiting' && state !== 'working') || incoming.httpVersionMinor === 0) return
    this.guarded(() => writer.processing())
  }

  /** More headers than a request may have, or no host: as malformed HTTP, without a correlator [management 11.5]. */
  #notHttp(status: 400 | 431): void {
    const { context, connection, writer } = this.#parts
    context.meter.rejected(status === 431 ? 'too_large' : 'malformed')
    this.malformed(status)
    if (writer.isLast) connection.endWith(status)
    else connection.refuseWith(status)
  }

  /** There is no memory for its head. Whoever has no key is not told so, as for overload. */
  #noRoomForHead(): void {
    const { context, head, log, begun } = this.#parts
    const response = context.access?.refusal(head, log, begun)
    if (response === undefined) this.noRoom()
    else this.turnDown({ response: response, counted: false })
  }

  /** The requests of all connections hold as much memory as they may. */
  noRoom(): void {
    if (!this.#life.isOpen) return
    const { context, head } = this.#parts
    context.meter.rejected('memory')
    this.#respond(overloaded(head.target.kind, 'too many bytes of requests are waiting'))
  }

  turnDown({ response, counted }: RefusedRequest): void {
    const { context, head, log } = this.#parts
    const rejection = rejectionOf[response.status]
    if (rejection !== undefined) context.meter.rejected(rejection)
    // Whoever tries tokens or keys, or what of the management is not for them, is seen in the log [management 13].
    const isTrying = response.status === 401 || (response.status === 403 && kinds[head.target.kind].isManagement)
    if (isTrying) context.alarms.occurred('BadInput', log.context.from, reasonOf(response))
    if (counted) {
      const resource = head.target.route?.resource
      context.meter.counted(resource, head.verb, this.#reader.payload, resource !== undefined)
      if (log.isTraced('http.route')) log.trace('http.route', `${head.verb}: no operation`)
    }
    this.#respond(response)
  }

  isOverload(admitted: Admitted): boolean {
    if (!this.#needsPermit(admitted) || !this.#parts.context.admission.turnsAway()) return false
    this.#refuse()
    return true
  }

  admit(admitted: Admitted): void {
    const { operation, route } = admitted
    const { context, head, log, connection } = this.#parts
    if (log.isTraced('http.route')) log.trace('http.route', `${head.verb} ${route.resource.pattern}`)
    if (operation === undefined) {
      context.meter.counted(route.resource, head.verb, 'none', false)
      this.#respond({ status: 200 })
    } else if (this.#life.take(step.wait)) {
      this.#admitted = admitted
      if (connection.takesTurn(this)) this.#takeTurn()
    }
  }

  proceed(): void {
    this.guarded(() => this.#takeTurn())
  }

  /** It is this request's turn on its connection; it works when it has a permit, if it needs one. */
  #takeTurn(): void {
    this.#hasTurn = true
    // Before it has a permit: small requests would wait for those of large ones.
    if (this.#isLarge) this.#parts.connection.beginLarge(() => this.guarded(() => this.#askToWork()))
    else this.#askToWork()
  }

  #askToWork(): void {
    if (!this.#life.isOpen) return
    if (this.#admitted !== undefined && this.#needsPermit(this.#admitted)) {
      this.#takePermit(
        () => this.#workWithPermit(),
        () => this.guarded(() => this.#refuse()),
      )
    } else this.#work()
  }

  /** Permits may come back for many large requests at once. */
  #workWithPermit(): void {
    if (this.#isLarge) this.#parts.connection.beginLarge(() => this.guarded(() => this.#work()))
    else this.guarded(() => this.#work())
  }

  get #isLarge(): boolean {
    return this.step_bytes + this.#parts.head.url.length >= large_bytes
  }

  /** Work that is done at once has given its permit back before `ask` returns; to do so twice changes nothing. */
  #takePermit(work: () => void, refuse?: () => void): void {
    this.#permit = this.#parts.context.admission.ask((permit) => {
      this.#permit = permit
      work()
    }, refuse)
  }

  #needsPermit({ operation }: Admitted): boolean {
    const { context, head } = this.#parts
    const isCounted = operation !== undefined && !kinds[head.target.kind].isManagement
    return isCounted && (context.policy === 'all' || context.policy === operation.use)
  }

  /** More requests arrive than can be done: this one is told to come back, before it costs more. */
  #refuse(): void {
    this.#respond(overloaded(this.#parts.head.target.kind, 'too many requests are waiting'))
  }

  #work(): void {
    const admitted = this.#admitted
    if (admitted?.operation === undefined || !this.#life.take(step.work)) return
    const { context, head, log, stages } = this.#parts
    stages?.over('permit')
    this.#isWorkedOn = true
    if (this.isLong) context.steps.beginSlices(this)
    const { verb, headers, target, correlator } = head
    const isForManagement = kinds[target.kind].isManagement
    runOperation(context, {
      operation: admitted.operation,
      resource: admitted.route.resource,
      request: {
        verb: isVerb(verb) ? verb : 'GET',
        segments: admitted.route.segments,
        parameters: admitted.parameters,
        headers,
        paths: this.#reader.paths,
        body: isForManagement ? '' : this.#reader.body,
        correlator,
        client: this,
      },
      payload: this.#reader.payload,
      parseStage: interfaceOf(context.rules.interfaces, target.kind)?.parseStage,
      raisesAlarms: !isForManagement,
      log,
      stages,
      done: (response) => this.guarded(() => this.#respond(response)),
      failed: (fault) => this.fail(fault),
    })
  }

  /** The work is over with its response, whether somebody still waits for it or not. */
  #respond(response: ApiResponse): void {
    if (this.#life.isOpen) this.#sender.send(response)
    this.#parts.context.steps.endSlices(this)
    this.#permit?.leave()
  }

  guarded(act: () => void): void {
    const { steps } = this.#parts.context
    if (this.step_bytes < timed_bytes) {
      steps.beginShort(this)
      this.#caught(act)
      return
    }
    const since = steps.begin(this)
    this.#caught(act)
    if (steps.isLong(since)) steps.name(this.stepName, this.step_bytes)
  }

  #caught(act: () => void): void {
    try {
      act()
    } catch (fault) {
      this.fail(fault)
    }
  }

  get stepName(): string {
    const { verb, target } = this.#parts.head
    return `${verb} ${target.route?.resource.pattern ?? 'of an unknown path'}`
  }

  get step_bytes(): number {
    return this.#reader.payload_bytes
  }

  fail(fault: unknown): void {
    const { context, log, head, writer, connection } = this.#parts
    try {
      if (fault instanceof DamagedRecord) context.damages.met(fault, log.context)
      else log.failed(fault)
      if (this.#life.isOpen) this.#respond(errorResponse(head.target.kind, 500, 'internal error'))
      else if (!this.#life.isOver) writer.destroy()
    } catch {
      // The first fault has been logged; nothing can be said to the client any more.
      connection.socket.destroy()
    }
    context.steps.endSlices(this)
    this.#permit?.leave()
  }

  /** `refused`: the bare status with which the connection refuses it. */
  end(refused?: BareStatus): void {
    const { context, connection, timed } = this.#parts
    const { meter, stopping } = context
    // If the client goes while its work is under way the work keeps the permit: else another request would work beside it.
    if (!this.#isWorkedOn) this.#permit?.leave()
    this.#reader.end()
    this.#memory.giveAll()
    this.#sender.release()
    meter.requestEnded()
    if (meter.timingOn && !this.#sender.isStream) {
      meter.stage('total', process.hrtime.bigint() - this.#reader.received, timed)
      if (timed !== undefined) meter.stagesDone(timed)
    }
    this.#sender.logEnd(refused)
    connection.leave(this, this.#hasTurn)
    if (stopping && !connection.busy) connection.finish()
  }
}
