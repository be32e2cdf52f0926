package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"mcphub/internal/ownership"
)

// Substitute gives the variables by which the hub keeps its state and its cache in its folder of the temporary folder, if the home
// folder takes neither: a container that runs as any user often has / for a home. A folder of the hub that exists is used as it is,
// and so is one that a variable names. The temporary folder is claimed, so the error tells whose it is. There are none on Windows.
func Substitute(env func(string) string) (vars map[string]string, err error) {
	home := env("HOME")
	if runtime.GOOS == "windows" || !filepath.IsAbs(home) {
		return nil, nil
	}
	cache := ".cache"
	if runtime.GOOS == "darwin" {
		cache = filepath.Join("Library", "Caches")
	}
	own := filepath.Join(os.TempDir(), ownName())
	for _, kept := range []struct{ variable, folder, instead string }{
		{"XDG_STATE_HOME", State(env), "state"}, {"XDG_CACHE_HOME", filepath.Join(home, cache, "mcphub"), "cache"},
	} {
		if filepath.IsAbs(env(kept.variable)) || canBeMade(kept.folder) {
			continue
		}
		if vars == nil {
			if err := Claim(own); err != nil {
				return nil, err
			}
			vars = map[string]string{}
		}
		vars[kept.variable] = filepath.Join(own, kept.instead)
	}
	return vars, nil
}

// canBeMade reports whether a folder exists, or the first folder above it that exists lets this user make it.
func canBeMade(dir string) bool {
	if _, err := os.Stat(dir); err == nil {
		return true
	}
	for dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if info, err := os.Stat(dir); err == nil {
			return info.IsDir() && ownership.MayMake(dir)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return false
}
