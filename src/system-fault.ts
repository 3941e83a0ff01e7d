/** What the codes of the system mean, and what helps. */
const meanings: Readonly<Record<string, string>> = {
  EACCES: 'the user of this process may not: change its owner or its rights, or use another user',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EDQUOT: 'the quota of the user is used up',
  EEXIST: 'something else has that name',
  EFBIG: 'a file may not become so large: raise the limit (ulimit -f), or use another file system',
  EISDIR: 'it is a folder',
  EMFILE: 'the process has too many files open: raise the limit (ulimit -n)',
  ENFILE: 'the system has too many files open',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is no folder',
  EPERM: 'the user of this process may not: change its owner or its rights, or use another user',
  EROFS: 'the file system can only be read: mount it for writing, or use another place',
}

/** What is wrong, for an operator: the meaning of the code of the system with the code, else what the fault says. */
export function systemFaultText(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  const code = 'code' in fault ? String(fault.code) : ''
  const meaning = meanings[code]
  return meaning === undefined ? fault.message : `${meaning} (${code})`
}
