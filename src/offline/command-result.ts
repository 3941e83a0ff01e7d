import { systemFaultText } from '../system-fault.js'
import type { ProgressOutput } from './progress.js'

/** What a command of `rigel` is started with. */
export interface CommandSurroundings {
  /** The words behind its name. */
  readonly words: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Where results go, and where progress and what is wrong. */
  readonly output: ProgressOutput
  readonly errors: ProgressOutput
}

/** A command that ends with an exit code. */
export type OfflineCommand = (surroundings: CommandSurroundings) => Promise<number>

/** What commands end with. */
export const commandCodes = { done: 0, failed: 1, notTried: 2 } as const

/** Why a command did not do what it was asked for, in words for the operator. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
}

/** The text of what went wrong: of a fault of the system which file it is about, and what helps. */
export function failureText(fault: unknown): string {
  const text = systemFaultText(fault)
  const isKnown = fault instanceof Error && text !== fault.message
  return isKnown && 'path' in fault ? `${fault.path}: ${text}` : text
}
