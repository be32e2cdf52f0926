package setup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/consent"
	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/rundir"
)

// resolvePath makes a path of hub.json absolute: relative ones start at its
// folder, ~ is the home folder. A bare command name is looked up later, and a
// path that begins with a placeholder is complete once that is expanded.
func resolvePath(f *config.File, path, home string, command bool) string {
	switch {
	case path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "${"):
		return path
	case path == "~" || strings.HasPrefix(path, "~/"):
		return filepath.Join(home, strings.TrimPrefix(path, "~"))
	case command && !strings.ContainsAny(path, `/\`):
		return path
	}
	return filepath.Join(f.Dir(), path)
}

// ClientFolder returns where copies of clients' configurations are kept, and
// what was put into them; "" if the user has no state folder.
func ClientFolder(env func(string) string) string {
	if dir := rundir.State(env); dir != "" {
		return filepath.Join(dir, "clients")
	}
	return ""
}

// LogFolder returns the folder of the children's stderr; "" if it is not kept.
func LogFolder(f *config.File) string { return stateFolderFor(f, f.Logs.IsOff(), f.Logs.Dir, "logs") }

// AuditFolder returns where decisions are recorded; "" if they are not.
func AuditFolder(f *config.File) string {
	return stateFolderFor(f, f.Audit.IsOff(), f.Audit.Dir, "audit")
}

// stateFolderFor is dir of hub.json, or the folder name of the hub's state; "" if it is
// off, or there is no such state.
func stateFolderFor(f *config.File, off bool, dir, name string) string {
	home, _ := os.UserHomeDir() // without one, what needs it stays relative and is not found
	switch state := rundir.State(os.Getenv); {
	case off:
		return ""
	case dir != "":
		return resolvePath(f, dir, home, false)
	case state != "":
		return filepath.Join(state, name)
	}
	return ""
}

// ownFolders returns what belongs to the hub and to no tool, whatever is in
// scope: what it keeps, and the sockets by which it is looked at and
// reloaded.
func ownFolders(f *config.File, home string) []string {
	var all []string
	state := rundir.State(os.Getenv)
	for _, dir := range append([]string{state, consent.NewFor(state, home).Closed(), LogFolder(f)}, rundir.Sockets(os.Getenv)...) {
		if dir != "" && !slices.ContainsFunc(all, func(around string) bool { return sandbox.Contains(around, dir) }) {
			all = append(all, dir)
		}
	}
	return all
}
