package headers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// This program is also the one that prints headers.
const does = "MCPHUB_TEST_HEADERS"

func TestMain(m *testing.M) {
	switch what, text, _ := strings.Cut(os.Getenv(does), ":"); what {
	case "":
		os.Exit(m.Run())
	case "print":
		fmt.Print(text)
	case "where":
		dir, _ := os.Getwd()
		fmt.Printf(`{"Dir": %q, "Args": %q, "Path": %q, "Other": %q}`, dir, strings.Join(os.Args[1:], " "), os.Getenv("PATH"), os.Getenv("OTHER"))
	case "fail":
		fmt.Print(`{"A": "c4n4ry"}`)
		fmt.Fprint(os.Stderr, "c4n4ry")
		os.Exit(3)
	case "much":
		_, _ = io.Copy(os.Stdout, strings.NewReader(strings.Repeat("c4n4ry", 1<<20)))
	case "hang":
		fmt.Print(`{"A": "c4n4ry"`)
		select {}
	}
	os.Exit(0)
}

// own returns this program, told what to do.
func own(t *testing.T, what string, more ...string) *Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Command{Program: exe, Environ: append([]string{does + "=" + what}, more...), At: "hub.json:3"}
}

// What is printed are headers, or an error that quotes none of it.
func TestPrinted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		`{"Authorization": "Bearer c4n4ry", "X-B": ""}`: {"Authorization": "Bearer c4n4ry", "X-B": ""},
		"\xef\xbb\xbf {\"A\": \"b\"}\r\n":               {"A": "b"},
		`{}`:                                            {},
		``:                                              nil, `c4n4ry`: nil, `"c4n4ry"`: nil, `[{"A": "c4n4ry"}]`: nil, `null`: nil,
		`{"A": "c4n4ry"} c4n4ry`: nil, `{"A": 1, "B": "c4n4ry"}`: nil, `{"A": null}`: nil, `{"A": ["c4n4ry"]}`: nil,
		`{"A": "c4n4ry\nB: x"}`: nil, `{"A": "c4n4ry\u0000"}`: nil, `{"c4n4ry x": "y"}`: nil, `{"": "c4n4ry"}`: nil, `{"A:": "c4n4ry"}`: nil,
		`{"A": "c4n4ry", "a": "x"}`: nil,
	} {
		got, err := own(t, "print:"+text).Run(t.Context())
		if want != nil && (err != nil || !maps.Equal(got, want)) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if bad, ok := errors.AsType[*Error](err); want == nil && (!ok || bad.At != "hub.json:3" || strings.Contains(err.Error(), "c4n4ry")) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// A program that fails, prints too much or does not end gives no headers, and none of it shows.
func TestFailures(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]string{"fail": "status 3", "much": "more than"} {
		if _, err := own(t, what).Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := own(t, "hang").Run(ctx); err == nil || got != nil {
		t.Errorf("one that hangs: %v, %v", got, err)
	}
	for _, program := range []string{"/nowhere/x", "mcphub-there-is-none", "sub/x"} {
		c := &Command{Program: program, Environ: os.Environ()}
		if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), program) {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// below reports one folder as a place that servers may write to.
func below(dir string) func(...string) (string, bool) {
	return func(paths ...string) (string, bool) {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				real = path
			}
			for _, p := range []string{path, real} {
				if p == dir || strings.HasPrefix(p, dir+string(filepath.Separator)) {
					return dir, true
				}
			}
		}
		return "", false
	}
}

// Nothing is run that a server could have written: not the program, by a link neither, nor what its arguments name, nor what it would
// find by a variable.
func TestWritten(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	project, home := t.TempDir(), t.TempDir()
	if real, err := filepath.EvalSymlinks(project); err == nil {
		project = real
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(project, "helper")
	if err := os.WriteFile(inside, code, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(home, "link")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	environ := []string{does + "=where", "HOME=" + home, "PATH=" + strings.Join([]string{project, "relative", filepath.Dir(exe)}, string(filepath.ListSeparator)), "OTHER=" + project + "/x"}
	try := func(program string, args ...string) (map[string]string, error) {
		c := &Command{Program: program, Args: args, Environ: environ, Written: below(project)}
		return c.Run(t.Context())
	}
	for name, args := range map[string][]string{
		"inside": {inside}, "a link": {link}, "by PATH": {"helper"}, "an argument": {exe, inside}, "in an option": {exe, "--script=" + inside},
		"in a line": {exe, "-c", "cd / && exec '" + inside + "' x"},
	} {
		if got, err := try(args[0], args[1:]...); err == nil || !strings.Contains(err.Error(), project) || !strings.Contains(err.Error(), "servers may write") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		c := &Command{Program: args[0], Args: args[1:], Environ: environ}
		if _, err := c.Run(t.Context()); err != nil {
			t.Errorf("%s: the control fails: %v", name, err)
		}
	}
	got, err := try(exe, "a", "b c")
	if err != nil || got["Args"] != "a b c" || got["Dir"] != rootOf(exe) || got["Path"] != filepath.Dir(exe) || got["Other"] != "" {
		t.Errorf("%v, %v", got, err)
	}
	c := &Command{Program: exe, Environ: environ, Written: below("/nowhere")}
	if got, err := c.Run(t.Context()); err != nil || got["Other"] != project+"/x" || !slices.Contains(filepath.SplitList(got["Path"]), project) {
		t.Errorf("what no server writes is left out: %v, %v", got, err)
	}
	if home, ok := c.writableFolder(c.pathsIn("~/x")...); ok || !slices.Equal(c.pathsIn("~/x"), []string{filepath.Join(lookupVariable(environ, "HOME"), "x")}) {
		t.Error(home)
	}
}
