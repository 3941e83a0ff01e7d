import { start } from './runtime/program.js'

/** Rejects when the program could not be started, and has not said why. */
export const started = start(process.argv.slice(2), process.env)
