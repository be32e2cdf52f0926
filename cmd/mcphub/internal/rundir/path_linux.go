package rundir

// maxPath is how long the path of a socket may be, in bytes: sun_path has 108,
// the last of them NUL.
const maxPath = 107
