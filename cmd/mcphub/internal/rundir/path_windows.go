package rundir

// maxPath is how long the path of a socket may be, in bytes.
const maxPath = 107
