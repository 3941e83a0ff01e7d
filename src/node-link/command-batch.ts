import type { Command } from '../partition/commands.js'
import { decodeCommands, decodeReplies, encodeCommands, encodeReplies } from '../partition/encoding.js'
import { err, ok, type Result } from '../result.js'
import type { CommandOutcome, CommandRefusal } from './batch-route.js'
import { frameOf, type MalformedBatch, malformed, parseFrame } from './byte-frame.js'

/** At most this many commands are in a batch between nodes. */
export const commandsMost = 512

const kinds: Readonly<Record<Command['kind'], true>> = {
  update: true,
  rawUpdate: true,
  sweep: true,
  ack: true,
  ping: true,
}

/** The body of a request with commands. What their members are is part of the format of the link, which each request names. */
export function commandsBody(commands: readonly Command[]): Buffer {
  return frameOf(encodeCommands(commands))
}

/**
 * The commands of a body, whose bytes may be anything. The members of a command of a known kind are believed: only a node of
 * the cluster that writes the same format gets this far.
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

/** What became of commands that follow each other: the times of their turn, or why there is no reply to them. */
interface Run {
  commands: number
  readonly turn?: readonly [decided_ns: number, committed_ns: number]
  readonly refusal?: CommandRefusal['kind']
  readonly owner?: string | undefined
}

/** The body of a response with the outcomes of commands, in their order. */
export function outcomesBody(outcomes: readonly CommandOutcome[]): Buffer {
  const runs: Run[] = []
  for (const outcome of outcomes) {
    const run = runOf(outcome)
    const last = runs.at(-1)
    if (last !== undefined && isAlike(last, run)) last.commands += 1
    else runs.push(run)
  }
  const replies = encodeReplies(outcomes.flatMap((outcome) => (outcome.ok ? [outcome.value.reply] : [])))
  return frameOf({ text: JSON.stringify(runs), bodies: [replies.text, ...replies.bodies] })
}

/** The outcomes of a body, of as many commands as were sent. */
export function parseOutcomesBody(bytes: Buffer, commands: number): Result<readonly CommandOutcome[], MalformedBatch> {
  const frame = parseFrame(bytes)
  if (!frame.ok) return frame
  const { text, bodies } = frame.value
  const [repliesText = '', ...repliesBodies] = bodies
  const runs = attempt(() => parseRuns(JSON.parse(text)))
  const replies = attempt(() => decodeReplies({ text: repliesText, bodies: repliesBodies }))
  if (runs === undefined || replies === undefined) return malformed('its texts are no outcomes of commands')
  const said = runs.reduce((sum, run) => sum + run.commands, 0)
  const replied = runs.reduce((sum, run) => sum + (run.turn === undefined ? 0 : run.commands), 0)
  if (said !== commands) return malformed(`it has the outcomes of ${said} commands, ${commands} were sent`)
  if (replied !== replies.length)
    return malformed(`it has ${replies.length} replies and says that there are ${replied}`)
  const left = replies.values()
  return ok(runs.flatMap((run) => Array.from({ length: run.commands }, () => outcomeOf(run, left))))
}

function runOf(outcome: CommandOutcome): Run {
  if (outcome.ok) return { commands: 1, turn: [outcome.value.turn.decided_ns, outcome.value.turn.committed_ns] }
  const { error } = outcome
  return { commands: 1, refusal: error.kind, owner: error.kind === 'notOwner' ? error.owner : undefined }
}

function isAlike(a: Run, b: Run): boolean {
  return a.refusal === b.refusal && a.owner === b.owner && a.turn?.[0] === b.turn?.[0] && a.turn?.[1] === b.turn?.[1]
}

function outcomeOf<Reply>({ turn, refusal, owner }: Run, left: Iterator<Reply>) {
  if (turn === undefined)
    return err(refusal === 'notOwner' ? { kind: refusal, owner } : { kind: refusal ?? 'outcomeUnknown' })
  const { value, done } = left.next()
  if (done) throw new Error('there are fewer replies than were counted')
  const [decided_ns, committed_ns] = turn
  // When it entered a mailbox, and when its turn began, is by the clock of the other node.
  return ok({ reply: value, turn: { decided_ns, committed_ns }, entered: 0n })
}

const refusals: Readonly<Record<CommandRefusal['kind'], true>> = {
  mailboxFull: true,
  partitionLost: true,
  outcomeUnknown: true,
  notOwner: true,
}

/** Throws when they are none. */
function parseRuns(raw: unknown): readonly Run[] {
  if (!Array.isArray(raw)) throw new Error('no list')
  return raw.map(parseRun)
}

function parseRun(raw: unknown): Run {
  if (typeof raw !== 'object' || raw === null || !('commands' in raw) || !isCount(raw.commands))
    throw new Error('no run')
  const { commands } = raw
  if ('turn' in raw && Array.isArray(raw.turn)) {
    const [decided_ns, committed_ns]: readonly unknown[] = raw.turn
    if (typeof decided_ns === 'number' && typeof committed_ns === 'number') {
      return { commands, turn: [decided_ns, committed_ns] }
    }
  }
  if (!('refusal' in raw) || !isRefusal(raw.refusal)) throw new Error('no outcome')
  return {
    commands,
    refusal: raw.refusal,
    owner: 'owner' in raw && typeof raw.owner === 'string' ? raw.owner : undefined,
  }
}

function isCount(raw: unknown): raw is number {
  return Number.isInteger(raw) && Number(raw) > 0 && Number(raw) <= commandsMost
}

function isRefusal(raw: unknown): raw is CommandRefusal['kind'] {
  return typeof raw === 'string' && Object.hasOwn(refusals, raw)
}

/** What a parser gives; nothing when it throws. */
function attempt<Parsed>(parse: () => Parsed): Parsed | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}
