package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/internal/atomicfile"
)

// hubFile reads the hub.json that serve would read. If there is none, text is nil and path is where
// it would be. named is --config.
func hubFile(named string) (path string, text []byte, err error) {
	path, _ = hubfile.Find(named, os.LookupEnv, pathExists)
	if path == "" {
		path = hubfile.DefaultPath(os.LookupEnv)
	}
	if path == "" {
		return "", nil, errors.New("there is no folder for hub.json: set HOME, or name a file with --config")
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", nil, err
	}
	text, err = atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	return path, text, err
}

func pathExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// existingFolders makes folders absolute, and refuses one that is not there.
func existingFolders(dirs []string) ([]string, error) {
	out := make([]string, 0, len(dirs))
	for _, d := range dirs {
		d = strings.TrimSpace(d)
		if d == "" {
			return nil, exit.UsageErrorf("a folder's name is empty")
		}
		if home, err := os.UserHomeDir(); err == nil && (d == "~" || strings.HasPrefix(d, "~/")) {
			d = filepath.Join(home, d[1:])
		}
		abs, err := filepath.Abs(d)
		if err != nil {
			return nil, err
		}
		if !strings.ContainsAny(abs, "*?{[") && !pathExists(abs) {
			return nil, exit.UsageErrorf("%s: there is no such folder", abs)
		}
		out = append(out, abs)
	}
	return out, nil
}

// givenRoots makes the directories of --root absolute. An empty one is a
// variable that was not set, and must not become the working directory.
func givenRoots(given []string) ([]string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("the working directory is gone: %w", err)
	}
	out := make([]string, 0, len(given))
	for _, p := range given {
		if p == "" {
			return nil, exit.UsageErrorf("--root: the directory is empty")
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		out = append(out, p)
	}
	return out, nil
}

// existingRoots returns the directories of --root, which must be there.
func existingRoots(given []string) ([]string, error) {
	roots, err := givenRoots(given)
	for _, r := range roots {
		if _, err := os.Stat(r); err != nil {
			return nil, exit.UsageErrorf("--root: %w", err)
		}
	}
	return roots, err
}

// projectFolder returns the working directory, if it can be anybody's project.
func projectFolder(home string) (dir, bad string) {
	dir, err := os.Getwd()
	switch {
	case err != nil:
		return "", "the working directory is not known"
	case dir == filepath.Dir(dir):
		return dir, "this is the root of the file system"
	}
	if real, err := filepath.EvalSymlinks(home); dir == home || err == nil && dir == real {
		return dir, "this is the home folder"
	}
	if strings.ContainsAny(dir, ",{}*?[") {
		return dir, "the name of this folder holds signs that --roots takes for patterns"
	}
	return dir, ""
}

// encodeHubPath returns a path as it goes into hub.json, which replaces ${...}.
func encodeHubPath(home, path string) string {
	return strings.ReplaceAll(tildePath(home, path), "${", "$${")
}

// tildePath returns a path as hub.json and people write it: below the home folder it
// begins with ~/.
func tildePath(home, path string) string {
	if home == "" {
		return path
	}
	homes := []string{home}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		homes = append(homes, real)
	}
	for _, home := range homes {
		if rel, below := sandbox.Rel(home, path); below && rel != "." {
			return "~/" + filepath.ToSlash(rel)
		}
	}
	return path
}

// ownPath returns the path of this program, as PATH has it: if a package
// manager installs versions side by side, that stays the same.
func ownPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(own)
	if err != nil {
		return own, nil // what was started is good enough
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		p := filepath.Join(dir, filepath.Base(own))
		if to, err := filepath.EvalSymlinks(p); err == nil && filepath.IsAbs(dir) && to == real {
			return p, nil
		}
	}
	return own, nil
}

// hubConfig reads and parses hub.json. A file that cannot be used is an error here, so that later
// errors are about the change. file is nil if there is none.
func hubConfig(named string) (path string, text []byte, file *config.File, err error) {
	if path, text, err = hubFile(named); err != nil || text == nil {
		return path, text, nil, err
	}
	if file, _, err = config.Parse(path, text, os.LookupEnv); err != nil {
		if _, ok := errors.AsType[*config.LoadError](err); ok {
			return "", nil, nil, exit.ConfigErrorf("%w. Put that right first; nothing was changed", err)
		}
		return "", nil, nil, err
	}
	return path, text, file, nil
}
