package refusal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefused reads the errors of the usual languages.
func TestRefused(t *testing.T) {
	out := t.TempDir() // of files that are there
	for _, name := range []string{"x", "a b.txt"} {
		if err := os.WriteFile(filepath.Join(out, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &Profile{Rules: Sorted([]Rule{{"/in", Read | Write | Execute}, {"/usr", Read | Execute}})}
	for text, want := range map[string]Refusal{
		"EACCES: permission denied, open '/out/a b.txt'":                        {"/out/a b.txt", Read},
		"Error: EPERM: operation not permitted, mkdir '/out/x'":                 {"/out/x", Write},
		"[Errno 13] Permission denied: '/out/x'":                                {"/out/x", Read},
		"open /out/x: permission denied":                                        {"/out/x", Read},
		"cat: /out/x: Permission denied\ncat: /in/y: No such file or directory": {"/out/x", Read},
		"mkdir: cannot create directory ‘/out/x y’: Permission denied":          {"/out/x y", Write},
		"EACCES: permission denied, open '/usr/x'":                              {"/usr/x", Write},
		"EACCES: permission denied, rename '/in/x' -> '/out/x'":                 {"/out/x", Write},
		`failed (path="/out/x"): Access is denied`:                              {"/out/x", Read},
		"could not open /in/../out/x: Operation not permitted (os error 1)":     {"/out/x", Read},
		"EACCES: permission denied, open '/out/new'":                            {"/out/new", Write}, // it was to be made
		"Permission denied":                                                          {},
		"see https://example.org/in/x: EACCES":                                       {},
		"Permission denied for '/out/x', and for '":                                  {"/out/x", Read},
		"read/write of a/b: EACCES":                                                  {},
		"EACCES //server/share":                                                      {},
		"/usr/bin/dash: 1: exec: tool: Permission denied":                            {},
		"/usr/bin/dash: 1: cannot create /out/x: Permission denied":                  {"/out/x", Write},
		"/out/x: Permission denied":                                                  {"/out/x", Read},
		"cat: /nowhere/*: No such file or directory\ncat: /out/x: Permission denied": {"/out/x", Read},
		"Permission denied: /":                                                       {},
	} {
		want.Path = strings.ReplaceAll(want.Path, "/out", out)
		if got, ok := p.Refused(strings.ReplaceAll(text, "/out", out)); !ok || got != want {
			t.Errorf("%q: %+v, %t, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"no such file: /out/x", "", "EACCES: permission denied, open '/in/x'", "/out/x: not found"} {
		if got, ok := p.Refused(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for _, p := range []*Profile{nil, {Unbounded: true}} {
		if _, ok := p.Refused("EACCES: permission denied, open '/out/x'"); ok {
			t.Errorf("%+v refuses", p)
		}
	}
}

// FuzzPathsIn: whatever a child says, no path in it is longer than the text.
func FuzzPathsIn(f *testing.F) {
	f.Add("'/a’/b‘/c'")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range pathsIn(text) {
			if len(p) > len(text) || p[0] != '/' {
				t.Errorf("%q in %q", p, text)
			}
		}
	})
}
