package clients

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
)

// dockFolders are the PATH of what macOS starts from its Dock (launchd).
var dockFolders = []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"}

// Located returns an entry with the path of its program, if only the PATH of a terminal has the program. A client that is started from the
// Dock of macOS has another PATH, and the hub that it starts has it too. A program in project, which may be a stranger's, and one
// of an entry that sets PATH keep their names.
func (e Env) Located(entry edit.Table, project string) edit.Table {
	name, _ := entry.Get("command").(string)
	env, _ := entry.Get("env").(edit.Table)
	if e.OS != "darwin" || name == "" || strings.ContainsAny(name, `/\$`) || env.Has("PATH") {
		return entry
	}
	for _, dir := range append(slices.Clone(dockFolders), filepath.SplitList(e.Get("PATH"))...) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if !filepath.IsAbs(dir) || err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || project != "" && strings.HasPrefix(path, project+"/") {
			continue
		}
		if slices.Contains(dockFolders, dir) {
			return entry
		}
		return entry.With("command", path)
	}
	return entry
}
