import type { Command, Reply } from '../../partition/turn/commands.js'
import { decodeCommands, decodeReplies, encodeCommands, encodeReplies } from '../../partition/turn/encoding.js'
import { err, ok, type Result } from '../../result.js'
import { isCount } from '../../unchecked-json.js'
import type { CommandOutcome, CommandRefusal } from './batch-route.js'
import { frameOf, type MalformedBatch, malformed, parseFrame } from './byte-frame.js'

/** The most commands in a batch between nodes. */
export const commandsMost = 512

const kinds: Readonly<Record<Command['kind'], true>> = {
  update: true,
  rawUpdate: true,
  sweep: true,
  ack: true,
  ping: true,
}

/** The body of a request with commands. Their members are part of the link format, whose number each request names. */
export function commandsBody(commands: readonly Command[]): Buffer {
  return frameOf(encodeCommands(commands))
}

/**
 * Parses the commands of a body with any bytes. The members of a command of a known kind are trusted: only a node of the cluster
 * that writes the same format gets this far.
 */
export function parseCommandsBody(bytes: Buffer): Result<readonly Command[], MalformedBatch> {
  const frame = parseFrame(bytes)
  if (!frame.ok) return frame
  const commands = attempt(() => decodeCommands(frame.value))
  if (commands === undefined) return malformed('its text is no list of commands')
  if (commands.length === 0 || commands.length > commandsMost) return malformed(`it has ${commands.length} commands`)
  if (!commands.every(({ kind }) => Object.hasOwn(kinds, kind))) return malformed('it has a command of unknown kind')
  return ok(commands)
}

/** The outcome of the command at a position of a batch. */
export interface PlacedOutcome {
  /** The name that the first response has given to the batch. */
  readonly batch: number
  readonly at: number
  readonly outcome: CommandOutcome
}

export interface FirstOutcomes {
  /** In the order of the commands; undefined for a deferred one. */
  readonly outcomes: readonly (CommandOutcome | undefined)[]
  /** The name of the batch in later responses, if any are to follow. */
  readonly batch: number | undefined
}

/**
 * Consecutive commands with like outcomes: the times of their turn, why there is no reply, or, in a first response, that they are
 * deferred. Later answers name the batch and positions of the commands.
 */
interface Run {
  commands: number
  readonly turn?: readonly [decided_ns: number, committed_ns: number]
  readonly refusal?: CommandRefusal['kind']
  readonly owner?: string | undefined
  readonly deferred?: true
  readonly batch?: number | undefined
  readonly at?: number | undefined
}

/** The body of the first response to a batch: the outcomes of its commands in order, undefined for deferred ones. */
export function outcomesBody(outcomes: readonly (CommandOutcome | undefined)[], batch?: number): Buffer {
  return bodyOf(
    outcomes.map((outcome) => (outcome === undefined ? { commands: 1, deferred: true, batch } : runOf(outcome))),
    outcomes,
  )
}

/** The body of a response with outcomes of deferred commands. */
export function laterOutcomesBody(later: readonly PlacedOutcome[]): Buffer {
  return bodyOf(
    later.map(({ batch, at, outcome }) => ({ ...runOf(outcome), batch, at })),
    later.map(({ outcome }) => outcome),
  )
}

function bodyOf(ofEach: readonly Run[], outcomes: readonly (CommandOutcome | undefined)[]): Buffer {
  const runs: Run[] = []
  for (const run of ofEach) {
    const last = runs.at(-1)
    if (last !== undefined && isAlike(last, run)) last.commands += 1
    else runs.push(run)
  }
  const replies = encodeReplies(outcomes.flatMap((outcome) => (outcome?.ok === true ? [outcome.value.reply] : [])))
  return frameOf({ text: JSON.stringify(runs), bodies: [replies.text, ...replies.bodies] })
}

/** Parses the first response to a batch of this many commands. */
export function parseOutcomesBody(bytes: Buffer, commands: number): Result<FirstOutcomes, MalformedBatch> {
  const parsed = parseRunsBody(bytes)
  if (!parsed.ok) return parsed
  const { runs, outcomesOf } = parsed.value
  const counted = runs.reduce((sum, run) => sum + run.commands, 0)
  if (counted !== commands) return malformed(`it has the outcomes of ${counted} commands, ${commands} were sent`)
  const names = new Set(runs.flatMap(({ deferred, batch }) => (deferred === true ? [batch] : [])))
  if (names.size > 1 || names.has(undefined)) return malformed('it does not say what the deferred commands are called')
  const [batch] = names
  return ok({ outcomes: runs.flatMap(outcomesOf), batch })
}

/** Parses the outcomes of deferred commands. */
export function parseLaterOutcomesBody(bytes: Buffer): Result<readonly PlacedOutcome[], MalformedBatch> {
  const parsed = parseRunsBody(bytes)
  if (!parsed.ok) return parsed
  const { runs, outcomesOf } = parsed.value
  const later: PlacedOutcome[] = []
  for (const run of runs) {
    const { batch, at } = run
    for (const [index, outcome] of outcomesOf(run).entries()) {
      if (batch === undefined || at === undefined || outcome === undefined)
        return malformed('it does not say what its outcomes are of')
      later.push({ batch, at: at + index, outcome })
    }
  }
  return ok(later)
}

interface ParsedRuns {
  readonly runs: readonly Run[]
  /** To be called once for each run, in order. */
  readonly outcomesOf: (run: Run) => readonly (CommandOutcome | undefined)[]
}

function parseRunsBody(bytes: Buffer): Result<ParsedRuns, MalformedBatch> {
  const frame = parseFrame(bytes)
  if (!frame.ok) return frame
  const { text, bodies } = frame.value
  const [repliesText = '', ...repliesBodies] = bodies
  const runs = attempt(() => parseRuns(JSON.parse(text)))
  const replies = attempt(() => decodeReplies({ text: repliesText, bodies: repliesBodies }))
  if (runs === undefined || replies === undefined) return malformed('its texts are no outcomes of commands')
  const replied = runs.reduce((sum, run) => sum + (run.turn === undefined ? 0 : run.commands), 0)
  if (replied !== replies.length)
    return malformed(`it has ${replies.length} replies and says that there are ${replied}`)
  const left = replies.values()
  return ok({ runs, outcomesOf: (run) => Array.from({ length: run.commands }, () => outcomeOf(run, left)) })
}

function runOf(outcome: CommandOutcome): Run {
  if (outcome.ok) return { commands: 1, turn: [outcome.value.turn.decided_ns, outcome.value.turn.committed_ns] }
  const { error } = outcome
  return { commands: 1, refusal: error.kind, owner: error.kind === 'notOwner' ? error.owner : undefined }
}

/** Whether the run can be extended by one more command. */
function isAlike(run: Run, next: Run): boolean {
  if (run.deferred !== next.deferred || run.batch !== next.batch) return false
  if (run.at !== undefined && run.at + run.commands !== next.at) return false
  const [turn, other] = [run.turn, next.turn]
  return (
    run.refusal === next.refusal && run.owner === next.owner && turn?.[0] === other?.[0] && turn?.[1] === other?.[1]
  )
}

function outcomeOf({ turn, refusal, owner, deferred }: Run, left: Iterator<Reply>): CommandOutcome | undefined {
  if (deferred === true) return undefined
  if (turn === undefined)
    return err(refusal === 'notOwner' ? { kind: refusal, owner } : { kind: refusal ?? 'outcomeUnknown' })
  const { value, done } = left.next()
  if (done) throw new Error('there are fewer replies than were counted')
  const [decided_ns, committed_ns] = turn
  // The other times were taken by the other node's clock.
  return ok({ reply: value, turn: { decided_ns, committed_ns }, entered: 0n })
}

const refusals: Readonly<Record<CommandRefusal['kind'], true>> = {
  mailboxFull: true,
  partitionLost: true,
  outcomeUnknown: true,
  notOwner: true,
}

/** Throws when they are malformed. */
function parseRuns(raw: unknown): readonly Run[] {
  if (!Array.isArray(raw)) throw new Error('no list')
  return raw.map(parseRun)
}

function parseRun(raw: unknown): Run {
  if (typeof raw !== 'object' || raw === null || !('commands' in raw) || !isCommandCount(raw.commands))
    throw new Error('no run')
  const { commands } = raw
  const batch = 'batch' in raw && isCount(raw.batch) ? raw.batch : undefined
  const at = 'at' in raw && isCount(raw.at) ? raw.at : undefined
  if ('deferred' in raw && raw.deferred === true) return { commands, deferred: true, batch }
  if ('turn' in raw && Array.isArray(raw.turn)) {
    const [decided_ns, committed_ns]: readonly unknown[] = raw.turn
    if (typeof decided_ns === 'number' && typeof committed_ns === 'number') {
      return { commands, turn: [decided_ns, committed_ns], batch, at }
    }
  }
  if (!('refusal' in raw) || !isRefusal(raw.refusal)) throw new Error('no outcome')
  return {
    commands,
    refusal: raw.refusal,
    owner: 'owner' in raw && typeof raw.owner === 'string' ? raw.owner : undefined,
    batch,
    at,
  }
}

function isCommandCount(raw: unknown): raw is number {
  return Number.isInteger(raw) && Number(raw) > 0 && Number(raw) <= commandsMost
}

function isRefusal(raw: unknown): raw is CommandRefusal['kind'] {
  return typeof raw === 'string' && Object.hasOwn(refusals, raw)
}

/** The result of a parser; undefined when it throws. */
function attempt<Parsed>(parse: () => Parsed): Parsed | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}
