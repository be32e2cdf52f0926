package confinement

import (
	"fmt"
	"os"
	"path/filepath"

	"mcphub/children/program"
	"mcphub/children/sandbox"
)

// A Child is what is to be confined, as it is about to start.
type Child struct {
	Program  program.Program
	Env      *program.Environment // Confine sets variables that lead to folders of the child's own
	Command  string               // the program that was found, by its absolute path
	Args     []string             // as the process is given them
	Dir      string               // the folder in which the program works
	StartDir string               // where the process starts instead; "": in Dir

	Scratch string // the empty folder in which launchers start; "": there is none
	Shell   string // the script that leads them to Dir; "": there is none

	Temp  string // its own temporary folder; "": it has none
	Cache string // its own folder for what it keeps from run to run; "": it has none
	Fresh string // a folder that it is to fill, as it installs a package; "": none

	Installed *program.Installed // the copy that it runs from; nil: its launcher runs
	Package   string             // what Installed is a copy of, as the entry names it
}

// privateFolders puts the child's own folders into its environment, if there are any
// and its entry names no other. users: the cache of the user stays its own too.
func (child Child) privateFolders(users bool) (rules []sandbox.Rule) {
	set := func(name, value string) {
		if _, said := child.Program.Env[name]; !said || child.Fresh != "" {
			child.Env.Set(name, value)
		}
	}
	if child.Temp != "" {
		rules = append(rules, sandbox.Rule{Path: child.Temp, Access: all})
		set("TMPDIR", child.Temp)
	}
	if child.Fresh != "" {
		rules = append(rules, sandbox.Rule{Path: child.Fresh, Access: all})
	}
	if child.Cache != "" {
		rules = append(rules, sandbox.Rule{Path: child.Cache, Access: all})
		if !users {
			set("XDG_CACHE_HOME", child.Cache)
		}
		set("npm_config_cache", filepath.Join(child.Cache, "npm"))
	}
	return rules
}

// PrivateTemp makes an empty folder for a run of a confined child. Its path is short,
// for the names of sockets may have 108 bytes.
func PrivateTemp() (dir string, err error) {
	base := os.TempDir()
	if len(base) > 40 {
		base = "/tmp"
	}
	if dir, err = os.MkdirTemp(base, "mcp-*"); err != nil { // mode 0700
		return "", fmt.Errorf("no temporary folder of its own: %w", err)
	}
	return sandbox.RealPath(dir), nil
}
