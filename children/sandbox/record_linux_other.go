//go:build linux && !amd64

package sandbox

// oldCalls are the old calls that newer architectures do without: here renameat, which
// some of them have by this number and none has another by.
var oldCalls = map[uint32]watched{
	38: {note: (*Recorder).noteMove, serve: (*broker).serveRename, dir: 0, path: 1, dir2: 2, path2: 3},
}

var (
	oldModes, oldOpens map[uint32]int
	oldChanges         map[uint32]change
)
