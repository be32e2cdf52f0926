package detect

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"mcphub/rootsmgr/platform"
	"mcphub/validate/access"
	"mcphub/validate/declare"
	"mcphub/validate/machine"
	"mcphub/validate/names"
	"mcphub/validate/shell"
	"mcphub/validate/strictjson"
)

// disk is what is there in these tests: nothing else is, and this user may write nowhere.
type disk struct {
	fstest.MapFS
	platform platform.Platform
}

func (d disk) Lstat(name string) (fs.FileInfo, error) { return d.MapFS.Lstat(d.name(name)) }

func (d disk) Readlink(name string) (string, error) { return d.ReadLink(d.name(name)) }

func (d disk) ReadDir(name string) ([]fs.DirEntry, error) { return d.MapFS.ReadDir(d.name(name)) }

func (disk) Writable(string) bool { return false }

func (d disk) Platform() platform.Platform { return d.platform }

func (disk) name(name string) string {
	if name = strings.TrimPrefix(name, "/"); name == "" {
		return "."
	}
	return name
}

// on returns a search on a machine that has this platform, and the same few files on every one.
func on(p platform.Platform) *Searcher {
	d := disk{fstest.MapFS{}, p}
	for _, name := range strings.Fields("etc/passwd etc/hosts home/me/.ssh/id_rsa home/me/project/a.txt home/me/outside/secret.txt tmp/x run/x.sock srv/bin/x") {
		d.MapFS[name] = &fstest.MapFile{Mode: 0o644}
	}
	for _, name := range strings.Fields("bin/sh bin/cat usr/bin/env usr/local/bin/x opt/bin/x") {
		d.MapFS[name] = &fstest.MapFile{Mode: 0o755}
	}
	m := machine.New(d, "/home/me", func(name string) string {
		return map[string]string{"HOME": "/home/me", "PATH": "/usr/local/bin:/usr/bin:/bin", "SHELL": "/bin/sh", "OUTSIDE": "/home/me/outside", "PWD": "/home/me/project"}[name]
	}, []string{"OUTSIDE"})
	return &Searcher{Machine: &m, Depth: strictjson.DefaultDepth, Size: strictjson.DefaultSize}
}

// tool returns a tool of this name, without a schema. A name like frob says nothing about what it does.
func tool(name string) Tool { return Tool{Traits: names.TraitsOf(name, false, false)} }

var (
	frob, reads, writes, moves = tool("frob"), tool("read_it"), tool("write_it"), tool("move_it")
)

// boxed returns a copy of a tool that runs in a container.
func (t Tool) boxed() Tool {
	t.Boxed = true
	return t
}

// rewriting returns a copy of a tool whose server may need a path in another spelling.
func (t Tool) rewriting() Tool {
	t.Rewrites = true
	return t
}

// members returns the beginning of an object with n members.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	return b.String()
}

// inJSON writes an object as a string in another, n times over.
func inJSON(n int, object string) string {
	for range n {
		object = `{"a":` + quoted(object) + `}`
	}
	return object
}

// with returns a copy of a tool that has a schema.
func (t Tool) with(schema string) Tool {
	if err := t.UseSchema([]byte(schema), strictjson.DefaultDepth); err != nil {
		panic(err)
	}
	return t
}

// declared returns a copy of a tool with declared arguments, each a pointer, a role, and the pointer of its base.
func (t Tool) declared(args ...string) Tool {
	rules := map[string]declare.ArgRule{}
	for _, arg := range args {
		words := append(strings.Fields(arg), "")
		role, err := access.Parse(words[1])
		if err != nil {
			panic(err)
		}
		rules[words[0]] = declare.ArgRule{Role: role, Base: words[2]}
	}
	t.Rules = declare.New("x", map[string]map[string]declare.ArgRule{"*": rules}, nil, false)
	return t
}

// in returns a copy of a tool in another mode.
func (t Tool) in(mode declare.Mode) Tool {
	t.Mode = mode
	return t
}

var forms = [...]string{"path", "uri", "word", "literal", "text", "link", "name", "glob"}

// brief writes a finding in a few words: how it was found, how it is read, what is done with it, and the value. Behind the role
// stand: ? it is guessed, m a member's name, > written by a redirection, + it may be made, ! it has to exist, s a word of a
// command, o an operand of something else, x it is run, c it says where a tool works, l cd went somewhere unknown. What is as in
// most findings is left out.
func brief(f *Finding) string {
	var b strings.Builder
	b.WriteString(f.How)
	if f.Form != FormPath {
		b.WriteString("/" + forms[f.Form])
	}
	b.WriteString(" " + f.Role.String()[:1])
	for _, flag := range []struct {
		on   bool
		sign string
	}{{f.Assumed, "?"}, {f.Member, "m"}, {f.Written, ">"}, {f.Makes, "+"}, {f.MustExist, "!"}, {f.InShell, "s"}, {f.Operand != f.InShell, "o"}, {f.Runs, "x"}, {f.Context, "c"}, {f.Course.Lost, "l"}} {
		if flag.on {
			b.WriteString(flag.sign)
		}
	}
	b.WriteString(" " + f.Value)
	for _, alt := range f.Alts {
		b.WriteString(" or " + alt)
	}
	for _, more := range []struct{ name, value string }{{"cd", f.Course.Dir}, {"base", f.Base}, {"at", f.BaseDir}, {"glob", f.Glob}, {"instead", f.Instead}, {"uncut", f.Uncut}} {
		if more.value != "" && more.value != f.Value {
			fmt.Fprintf(&b, " %s=%s", more.name, more.value)
		}
	}
	if f.Course.Sure != shell.SureNot {
		fmt.Fprintf(&b, " sure=%d", f.Course.Sure)
	}
	if r := f.Rewritable; r.End > 0 {
		fmt.Fprintf(&b, " rewritable=%d-%d", r.Start, r.End)
		if r.Single {
			b.WriteString(" single")
		}
	}
	return b.String()
}

// all writes findings one after the other, each with its pointer if that is not the one before.
func all(list []Finding) string {
	var b strings.Builder
	at := ""
	for i := range list {
		if i > 0 {
			b.WriteString("; ")
		}
		if f := &list[i]; f.Pointer != at {
			b.WriteString(f.Pointer + " ")
			at = f.Pointer
		}
		b.WriteString(brief(&list[i]))
	}
	return b.String()
}

// row is a call and what is found in it.
type row struct {
	tool       Tool
	args, want string
}

// repeats stands for a text many times over: «5 ab».
var repeats = regexp.MustCompile(`«(\d+) ([^»]*)»`)

// long writes out what s says to repeat.
func long(s string) string {
	return repeats.ReplaceAllStringFunc(s, func(s string) string {
		m := repeats.FindStringSubmatch(s)
		n, err := strconv.Atoi(m[1])
		if err != nil {
			panic(err)
		}
		return strings.Repeat(m[2], n)
	})
}

// outcome writes what a search has come to.
func outcome(r Result, err error) string {
	if e, ok := errors.AsType[*strictjson.Error](err); ok {
		return "refused " + e.Pointer + " " + e.Code
	}
	if err != nil {
		return err.Error()
	}
	if len(r.Resources) > 0 {
		return all(r.Findings) + " | " + all(r.Resources)
	}
	return all(r.Findings)
}

// search checks what is found in the arguments of calls.
func search(t *testing.T, s *Searcher, rows []row) {
	t.Helper()
	for _, r := range rows {
		if got, want := outcome(s.Arguments(&r.tool, []byte(long(r.args)))), long(r.want); got != want {
			t.Errorf("%.400s\n got %.2000s\nwant %.2000s", r.args, got, want)
		}
	}
}
