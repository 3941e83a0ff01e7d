/** What `optionsFrom` makes of the command line and the environment, for all other parts. */
export type { NotificationOptions, Options } from './command-line/settings.js'
