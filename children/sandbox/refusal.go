package sandbox

// A Refusal is something that the kernel has not let a child do, as far as what the child
// says tells it.
type Refusal struct {
	Path         string // what is closed; "" if it is about unix sockets
	Access       Access // that was wanted there
	By           Namer  // who names Path
	At           string // where the entry does: a JSON pointer in it
	Opens        string // what has to be opened for it: Path, or the folder around it; "": nothing can be
	Why          string // why Opens is "", for a person
	Sockets      bool   // unix sockets are closed
	Variable     string // that names the socket which was refused; "" if that is not known
	KeepsRunning bool   // the child runs on without what was opened later, as its entry wants
	Unexplained  bool   // a program that the child ran has failed without a reason: nothing is known to be closed
	Tool         string // of the call that was refused; "" if that does not matter
	Kept         bool   // it lies among keys, clients' settings or what the hub protects: a client is not told the path
}

// Text returns what is closed, in words.
func (refusal Refusal) Text() string {
	switch {
	case refusal.Variable != "":
		return "the socket of " + refusal.Variable
	case refusal.Sockets:
		return "unix sockets"
	}
	return refusal.Path
}

// A Namer says who has named a path.
type Namer string

// Who may have named a path.
const (
	ByEntry  Namer = "entry"  // of hub.json
	ByCall   Namer = "call"   // its arguments
	ByServer Namer = "server" // its text alone
	ByNotice Namer = "notice" // the kernel, which asked the hub about it: no one can have made it up
)
