package confinement

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mcphub/children/sandbox"
)

// privateFolders puts the child's own folders into its environment, where there are any
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

var errNoTemp = errors.New("no temporary folder of its own")

// PrivateTemp makes an empty folder for a run of a confined child. Its path is short,
// for the names of sockets may have 108 bytes.
func PrivateTemp() (dir string, err error) {
	base := os.TempDir()
	if len(base) > 40 {
		base = "/tmp"
	}
	if dir, err = os.MkdirTemp(base, "mcp-*"); err != nil { // mode 0700
		return "", fmt.Errorf("%w: %w", errNoTemp, err)
	}
	return RealPath(dir), nil
}
