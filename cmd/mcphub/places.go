package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mcphub/internal/admin"
	"mcphub/internal/config"
)

// stateFolder is where the hub keeps what it writes for itself: mcphub in the
// XDG state folder, on Windows below LOCALAPPDATA. "" where the user has none.
func stateFolder(env func(string) string) string {
	if runtime.GOOS == "windows" {
		if base := env("LOCALAPPDATA"); filepath.IsAbs(base) {
			return filepath.Join(base, "mcphub")
		}
		return ""
	}
	if base := env("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "mcphub")
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "mcphub")
	}
	return ""
}

// socketFolders is where the sockets of running hubs may lie.
func socketFolders(env func(string) string) []string {
	p := admin.Places{State: stateFolder(env), Temp: os.TempDir()}
	if runtime.GOOS != "windows" {
		p.Runtime = env("XDG_RUNTIME_DIR")
	}
	return admin.Folders(p)
}

// logFolder is where the children's stderr is kept; "" where it is not.
func logFolder(f *config.File, home string, env func(string) string) string {
	switch state := stateFolder(env); {
	case f.Logs.Off():
		return ""
	case f.Logs.Dir != "":
		return fromFile(f, f.Logs.Dir, home, false)
	case state != "":
		return filepath.Join(state, "logs")
	}
	return ""
}

// ownFolders is what belongs to the hub and to no tool, whatever is in scope
// (V10): what it keeps, and the sockets by which it is looked at and reloaded.
func ownFolders(f *config.File, home string, env func(string) string) []string {
	var all []string
	for _, dir := range append([]string{stateFolder(env), logFolder(f, home, env)}, socketFolders(env)...) {
		within := func(of string) bool { return strings.HasPrefix(dir, of+string(filepath.Separator)) || dir == of }
		if dir != "" && !slices.ContainsFunc(all, within) {
			all = append(all, dir)
		}
	}
	return all
}
