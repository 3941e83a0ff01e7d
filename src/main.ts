// What tests run where no program was made of the modules.
import { start } from './runtime/program.js'

await start(process.argv.slice(2), process.env)
