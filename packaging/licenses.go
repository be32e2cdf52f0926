package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// thirdParty is the name of the file with the licences of what is compiled in.
const thirdParty = "THIRD_PARTY_LICENSES"

// legal matches the names of files that have to go with copies of a program.
var legal = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// A module is one that is compiled into the program. Its root is the first of folders:
// its packages', and the ones above. Parts that were taken from elsewhere have their
// licence beside them.
type module struct {
	name    string // with its version
	folders []string
}

// license reads the licence of mcphub, and the licences of every module that any platform has.
func (r *release) license() error {
	var err error
	if r.ownLicense, err = os.ReadFile("../LICENSE"); err != nil {
		return err
	}
	for _, of := range []struct {
		tags string
		to   *[]byte
	}{{"", &r.notices}, {imageTags, &r.inImage}} {
		modules, err := compiledIn(r.platforms, of.tags)
		if err != nil {
			return err
		}
		if *of.to, err = notices(modules); err != nil {
			return err
		}
	}
	return nil
}

// compiledIn lists Go itself and the modules of the program, built with these tags, in the order of names.
func compiledIn(platforms []platform, tags string) ([]module, error) {
	root, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	goroot, version, _ := strings.Cut(strings.TrimSpace(string(root)), "\n")
	folders := map[string]map[string]bool{}
	roots := map[string]string{}
	for _, p := range platforms {
		cmd := exec.Command("go", "list", "-tags", tags, "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "./cmd/mcphub")
		cmd.Dir = ".."
		cmd.Env = p.environ()
		printed, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s/%s: %w", p.os, p.arch, err)
		}
		for line := range strings.Lines(string(printed)) {
			parts := strings.Split(strings.TrimSpace(line), "\t")
			if len(parts) != 3 {
				continue // of the program itself, or of Go
			}
			name, top := parts[0], parts[1]
			roots[name] = top
			if folders[name] == nil {
				folders[name] = map[string]bool{}
			}
			for dir := parts[2]; len(dir) > len(top); dir = filepath.Dir(dir) {
				folders[name][dir] = true
			}
		}
	}
	modules := []module{{"Go " + strings.TrimPrefix(version, "go"), []string{goroot}}}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		modules = append(modules, module{name, append([]string{roots[name]}, slices.Sorted(maps.Keys(folders[name]))...)})
	}
	return modules, nil
}

// notices returns the text of THIRD_PARTY_LICENSES.
func notices(modules []module) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("mcphub contains the following software. The source of each is at https://pkg.go.dev, under its name and version.\n")
	for _, m := range modules {
		found := 0
		for _, folder := range m.folders {
			entries, err := os.ReadDir(folder)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if e.IsDir() || !legal.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
					continue
				}
				path := filepath.Join(folder, e.Name())
				text, err := os.ReadFile(path)
				if err != nil {
					return nil, err
				}
				name, err := filepath.Rel(m.folders[0], path)
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(&out, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), m.name, filepath.ToSlash(name), bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
				found++
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("%s has no licence in %s", m.name, cmp.Or(m.folders[0], "its folder, which is not known"))
		}
	}
	return out.Bytes(), nil
}
