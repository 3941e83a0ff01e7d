/** The exit codes of the process [management 9.5]. */
export const exitCodes = {
  ended: 0,
  commandLine: 1,
  port: 2,
  dataFolder: 3,
  certificate: 4,
  pidFile: 5,
  cluster: 6,
  behind: 8,
  internal: 70,
} as const
