package headers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/process"
	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/guard"
)

// A Command is what hub.json names.
type Command struct {
	Program string // a name looked up in PATH, or an absolute path
	Args    []string
	Environ []string // NAME=value, the user's
	At      string   // the line of hub.json; ""

	// Written reports which folder, in which servers may write, holds one of these absolute paths; ok is false if there is
	// none. Links are followed. nil: nothing is on record.
	Written func(paths ...string) (dir string, ok bool)
}

// Bounds of one run.
const (
	runTime    = 30 * time.Second
	maxOutput  = 64 << 10
	maxHeaders = 64
)

// An Error reports why there are no headers.
type Error struct {
	At   string // the line of hub.json; ""
	Text string
}

func (e *Error) Error() string {
	if e.At == "" {
		return "headersFrom: " + e.Text
	}
	return "headersFrom: " + e.Text + " (" + e.At + ")"
}

func (c *Command) errorf(format string, args ...any) error {
	return &Error{c.At, fmt.Sprintf(format, args...)}
}

// Run runs the program and returns the headers that it prints.
func (c *Command) Run(ctx context.Context) (map[string]string, error) {
	program, err := c.Find()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, errTime)
	defer cancel()
	said, err := process.RunForOutput(ctx, launch.Launch{Command: program, Args: c.Args, Env: c.childEnvironment(), Dir: rootOf(program)}, maxOutput+1, zerolog.Nop())
	switch {
	case len(said) > maxOutput:
		return nil, c.errorf("%s printed more than %d bytes", program, maxOutput)
	case errors.Is(err, errTime):
		return nil, c.errorf("%s printed nothing that ended within %v", program, runTime)
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, c.errorf("%s %v; run it yourself to see why", program, err)
	}
	out, why := readOutput([]byte(said))
	if why != "" {
		return nil, c.errorf("%s printed %s", program, why)
	}
	return out, nil
}

var errTime = errors.New("the time is over")

// rootOf returns the root of the file system.
func rootOf(path string) string { return filepath.VolumeName(path) + string(filepath.Separator) }

// Find finds the program, and refuses one that a server could have written.
func (c *Command) Find() (string, error) {
	program, err := c.findProgram()
	if err != nil {
		return "", err
	}
	if dir, ok := c.writableFolder(program); ok {
		return "", c.errorf("%s lies in %s, where servers may write, so it is not run; move it to a folder that no server is given", program, dir)
	}
	for _, arg := range c.Args {
		for _, path := range c.pathsIn(arg) {
			if dir, ok := c.writableFolder(path); ok {
				return "", c.errorf("its argument %s lies in %s, where servers may write, so it is not run; move that to a folder that no server is given", path, dir)
			}
		}
	}
	return program, nil
}

func (c *Command) findProgram() (string, error) {
	if filepath.IsAbs(c.Program) {
		for _, path := range withExtensions(c.Program) {
			if isExecutable(path) {
				return path, nil
			}
		}
		return "", c.errorf("there is no program %s", c.Program)
	}
	if strings.ContainsAny(c.Program, `/\`) {
		return "", c.errorf("%s is no absolute path", c.Program)
	}
	for _, dir := range filepath.SplitList(lookupVariable(c.Environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, path := range withExtensions(filepath.Join(dir, c.Program)) {
			if isExecutable(path) {
				return path, nil
			}
		}
	}
	return "", c.errorf("there is no program %s on PATH", c.Program)
}

func withExtensions(path string) []string {
	if runtime.GOOS != "windows" || filepath.Ext(path) != "" {
		return []string{path}
	}
	return []string{path + ".exe", path + ".cmd", path + ".bat"}
}

func isExecutable(path string) bool {
	if !guard.MayFollow(path, nil) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0)
}

func (c *Command) writableFolder(paths ...string) (string, bool) {
	if c.Written == nil || len(paths) == 0 {
		return "", false
	}
	return c.Written(paths...)
}

// pathsIn returns the absolute paths in a text: an argument, a line for a shell, a variable.
func (c *Command) pathsIn(text string) (paths []string) {
	home := lookupVariable(c.Environ, "HOME")
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("'\"`=;|&<>(),", r) }) {
		for _, path := range append(filepath.SplitList(word), word) {
			if rest, ok := strings.CutPrefix(path, "~/"); ok {
				path = filepath.Join(home, rest)
			}
			if filepath.IsAbs(path) && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// kept are variables that are passed on wherever they lead: programs keep in these folders what they know, and run none of it.
var kept = []string{"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMPDIR", "TEMP", "TMP", "SSH_AUTH_SOCK"}

// childEnvironment returns the user's, without what would have the program take code from where servers write.
func (c *Command) childEnvironment() []string {
	var all []string
	for _, pair := range c.Environ {
		_, value, _ := strings.Cut(pair, "=")
		all = append(all, c.pathsIn(value)...)
	}
	_, some := c.writableFolder(all...)
	var out []string
	for _, pair := range c.Environ {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH"):
			pair = name + "=" + c.plainPath(value, some)
		case !some || slices.Contains(kept, name) || strings.HasPrefix(name, "XDG_"):
		default:
			if _, bad := c.writableFolder(c.pathsIn(value)...); bad {
				continue
			}
		}
		out = append(out, pair)
	}
	return out
}

// plainPath returns a PATH without folders in which servers may write, and without relative ones; some is false if there is
// none of the former.
func (c *Command) plainPath(path string, some bool) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		if !filepath.IsAbs(dir) || !some {
			return !filepath.IsAbs(dir)
		}
		_, bad := c.writableFolder(dir)
		return bad
	}), string(filepath.ListSeparator))
}

func lookupVariable(environ []string, name string) (value string) {
	for _, pair := range environ {
		if n, v, _ := strings.Cut(pair, "="); n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

// readOutput reads what a program printed. why is the fault of that, and quotes none of it.
func readOutput(said []byte) (out map[string]string, why string) {
	said = bytes.TrimSpace(bytes.TrimPrefix(said, []byte("\xef\xbb\xbf")))
	if !json.Valid(said) || len(said) == 0 || said[0] != '{' {
		return nil, `no JSON object; want {"NAME": "value"}`
	}
	out = map[string]string{}
	err := jsonrpc.Members(said, func(name string, raw []byte) bool {
		value, ok := jsonrpc.String(raw)
		switch {
		case !ok:
			why = "a header whose value is no string"
		case !isName(name):
			why = "a name that no HTTP header has"
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			why = "a value that no HTTP header can have: it holds a control character"
		case hasName(out, name):
			why = "two headers of one name"
		case len(out) >= maxHeaders:
			why = fmt.Sprintf("more than %d headers", maxHeaders)
		default:
			out[name] = value
		}
		return why == ""
	})
	if err != nil && why == "" {
		why = "no JSON object"
	}
	return out, why
}

func hasName(all map[string]string, name string) bool {
	for have := range all {
		if strings.EqualFold(have, name) {
			return true
		}
	}
	return false
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
