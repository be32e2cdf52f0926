package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/remote"
)

// VariantDigest returns a digest of all that makes an instance of s another one than the same
// entry is in other surroundings: what the entry says, once variables are replaced, and the
// variables that the child gets. Nothing can be read out of it. isDir reports whether a folder is
// there.
func (s Spec) VariantDigest(isDir func(path string) bool) string {
	env, said := s.inheritedVariables(isDir), s.WithDefaults()
	said.Environ, said.Variant, said.Revision, said.Start, said.Sandbox.At, said.ShareWhy = nil, "", 0, 0, "", ""
	said.TLS, said.HeadersFrom.At, said.Auth.At, said.Supply = said.TLS.Bare(), "", "", remote.Supply{}
	said.Inherit = nil // env has what is there of it
	if said.URL != "" || said.Share != ShareSession {
		said.Dir = "" // it starts in no one's folder
	}
	text, err := json.Marshal([]any{said, env}) // maps in the order of their keys
	if err != nil {
		panic(err) // it holds texts and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// inheritedVariables returns the variables that the child gets of its surroundings. One that several
// sessions may share gets what is of a window or terminal from the session that starts it, so
// that is left out; its PATH counts without folders that are missing or named before.
func (s Spec) inheritedVariables(isDir func(path string) bool) map[string]string {
	out := map[string]string{}
	if s.URL != "" {
		return out
	}
	env := program.Inherited(s.Environ, s.Inherit, runtime.GOOS)
	for name := range s.Env {
		env.Unset(name) // its own counts
	}
	for _, name := range env.Names() {
		value, _ := env.Get(name)
		switch {
		case s.Share == ShareSession:
		case program.Incidental(name):
			continue
		case env.Key(name) == "PATH":
			value = plainPath(value, isDir)
		}
		out[env.Key(name)] = value
	}
	return out
}

func plainPath(path string, isDir func(path string) bool) string {
	var keep []string
	for _, dir := range filepath.SplitList(path) {
		if !slices.Contains(keep, dir) && (!filepath.IsAbs(dir) || isDir(dir)) {
			keep = append(keep, dir)
		}
	}
	return strings.Join(keep, string(filepath.ListSeparator))
}

// Apart names what tells the instances of two Specs of one entry apart: variables, and keys of
// the entry. It tells no values.
func Apart(a, b Spec, m launch.Machine) (names []string) {
	differ := func(x, y map[string]string, before string) {
		for name := range x {
			if v, ok := y[name]; !ok || v != x[name] {
				names = append(names, before+name)
			}
		}
		for name := range y {
			if _, ok := x[name]; !ok {
				names = append(names, before+name)
			}
		}
	}
	differ(a.inheritedVariables(m.IsDir), b.inheritedVariables(m.IsDir), "")
	differ(a.Env, b.Env, "env.")
	differ(a.Headers, b.Headers, "headers.")
	for _, key := range []struct {
		name string
		x, y any
	}{
		{"command", a.Command, b.Command}, {"args", a.Args, b.Args}, {"cwd", a.Cwd, b.Cwd}, {"envFile", a.EnvFile, b.EnvFile}, {"url", a.URL, b.URL}, {"tls", a.TLS.Bare(), b.TLS.Bare()},
		{"headersFrom", append([]string{a.HeadersFrom.Command}, a.HeadersFrom.Args...), append([]string{b.HeadersFrom.Command}, b.HeadersFrom.Args...)},
		{"sandbox.read", a.Sandbox.Read, b.Sandbox.Read}, {"sandbox.write", a.Sandbox.Write, b.Sandbox.Write},
	} {
		if !reflect.DeepEqual(key.x, key.y) {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	return names
}
