package caller

import "errors"

// What a caller is told on every system that tells callers apart.
var (
	errNoPerson = errors.New("what a hub's servers start may not approve; open a terminal of your own")
	errServer   = errors.New("what a hub's servers start may not do that; use a terminal of your own")
	errGone     = errors.New("the process that asks has ended, so it cannot be told whether it is a hub's server")
	errOfClient = errors.New("what a client of a hub starts, as a model's shell is, may not do that; use a terminal that the client did not start, or the page of mcphub console")
)
