package operation

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/world"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

// verdict is what is expected of both verifiers.
type verdict int

const (
	found  verdict = iota // it is not whole
	hidden                // it is whole: no one can tell, and docs/audit-format.md says so
	either                // they must agree, and that is all
)

// arena is a folder of audit logs that is spoilt in one way after the other,
// with both verifiers at its side.
type arena struct {
	t     *testing.T
	w     *world.World
	dir   string
	good  map[string][]byte // the files of the folder
	now   map[string][]byte // as they stand on the disk
	ask   io.Writer
	heard *bufio.Scanner

	closed, recovered, shared, open string // the logs in it
	trimmed, gone                   string // a log without its oldest file, one without any
	tries, cli                      int
	drawn                           int // of what a short run tries a part of
}

func newArena(t *testing.T, n world.Node) *arena {
	a := &arena{t: t, w: world.New(t), good: map[string][]byte{}, now: map[string][]byte{}}
	a.dir = a.w.Path("audit")
	a.build()
	script := world.Source("e2e", "clients", "verify-many.mjs")
	cmd := exec.Command(n.Program, script)
	cmd.Stderr = os.Stderr
	in, out := world.Converse(t, cmd)
	a.ask, a.heard = in, bufio.NewScanner(out)
	return a
}

// build makes logs of every kind: one that was closed, after two rotations; one
// that was cut off in a line by a crash; one of two short runs; one that is open.
func (a *arena) build() {
	world.Must(a.t, os.Mkdir(a.dir, 0o700))
	run := func(lines int, o audit.Options) string {
		id, end := a.begin(a.dir, lines, o)
		end()
		return id
	}
	a.closed = run(6, audit.Options{})
	crashed := a.w.Path("crashed")
	recovered, end := a.begin(a.dir, 2, audit.Options{})
	world.Must(a.t, os.CopyFS(crashed, os.DirFS(a.dir)))
	end()
	world.Must(a.t, os.RemoveAll(a.dir))
	world.Must(a.t, os.Rename(crashed, a.dir))
	world.Must(a.t, os.Chmod(a.dir, 0o700))
	half, err := os.OpenFile(filepath.Join(a.dir, recovered+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	world.Must(a.t, err)
	_, err = half.WriteString(`{"v":1,"n":4,"prev":"cut of`)
	world.Must(a.t, err)
	world.Must(a.t, half.Close())
	a.recovered = recovered
	a.shared = run(1, audit.Options{Continue: true})
	run(1, audit.Options{Continue: true})
	a.trimmed, a.gone = run(6, audit.Options{}), run(1, audit.Options{})
	trimmed := a.w.Path("audit", a.trimmed+".jsonl")
	text, err := os.ReadFile(trimmed)
	world.Must(a.t, err)
	parts := bytes.SplitAfter(text, []byte("\n"))
	for i, part := range [][]byte{bytes.Join(parts[:2], nil), bytes.Join(parts[2:5], nil), bytes.Join(parts[5:], nil)} {
		name := trimmed
		if i < 2 {
			name = a.w.Path("audit", fmt.Sprintf("%s-2026-01-01T00-00-0%d.000-size.jsonl", a.trimmed, i))
		}
		world.Must(a.t, os.WriteFile(name, part, 0o600))
	}
	a.remove(a.trimmed, a.w.Path("audit", a.trimmed+"-2026-01-01T00-00-00.000-size.jsonl"))
	a.remove(a.gone, a.w.Path("audit", a.gone+".jsonl"))
	a.open, end = a.begin(a.dir, 3, audit.Options{})
	defer end()
	files, err := os.ReadDir(a.dir)
	world.Must(a.t, err)
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(a.dir, f.Name()))
		world.Must(a.t, err)
		a.good[f.Name()] = b
	}
	// As if it had been rotated twice.
	lines := bytes.SplitAfter(a.good[a.closed+".jsonl"], []byte("\n"))
	a.good[a.closed+"-2026-01-01T00-00-02.000-size.jsonl"] = bytes.Join(lines[:2], nil)
	a.good[a.closed+"-2026-01-01T00-00-01.000-size.jsonl"] = append(bytes.Join(lines[2:4], nil), lines[4][:20]...)
	a.good[a.closed+".jsonl"] = append(slices.Clone(lines[4][20:]), bytes.Join(lines[5:], nil)...)
	a.dir = a.w.Path("arena")
	world.Must(a.t, os.Mkdir(a.dir, 0o700))
}

// remove removes the oldest file of a log as audit.keep does.
func (a *arena) remove(id, path string) {
	chain, err := trail.ReadChain(a.dir)
	world.Must(a.t, err)
	r, err := chain.CheckOldest(id, path)
	world.Must(a.t, err)
	world.Must(a.t, audit.RemoveFile(a.dir, r))
}

func (a *arena) begin(dir string, lines int, o audit.Options) (id string, end func()) {
	o.Dir, o.Program = dir, "test"
	l, err := audit.Open(o)
	world.Must(a.t, err)
	for i := range lines {
		_, err := l.Put(audit.KindDecision, &audit.Record{Session: "s", Request: fmt.Append(nil, i), DecisionFields: audit.DecisionFields{Child: "files", Tool: "read", Decision: "deny"}}, nil, time.Now())
		world.Must(a.t, err)
		world.Must(a.t, l.Commit(context.Background()))
	}
	return l.ID(), func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		world.Must(a.t, l.Run(ctx))
	}
}

// sample is try for what hub/audit tries on its own verifier in every way: the short run tries one in five.
func (a *arena) sample(what string, files map[string][]byte, want verdict) {
	a.t.Helper()
	if a.drawn++; a.drawn%5 == 0 || world.Long {
		a.try(what, files, want)
	}
}

// try puts files on the disk and asks both verifiers.
func (a *arena) try(what string, files map[string][]byte, want verdict, heads ...string) {
	a.t.Helper()
	for name := range a.now {
		if _, ok := files[name]; !ok {
			world.Must(a.t, os.Remove(filepath.Join(a.dir, name)))
		}
	}
	for name, b := range files {
		if was, ok := a.now[name]; !ok || !bytes.Equal(was, b) {
			world.Must(a.t, os.WriteFile(filepath.Join(a.dir, name), b, 0o600))
		}
	}
	a.now = maps.Clone(files)
	a.tries++
	r, err := trail.Verify(a.dir, heads...)
	ours := err == nil && r.IsWhole()
	line, err := json.Marshal(append([]string{a.dir}, heads...))
	world.Must(a.t, err)
	_, err = fmt.Fprintf(a.ask, "%s\n", line)
	world.Must(a.t, err)
	if !a.heard.Scan() {
		a.t.Fatalf("%s: the other program is gone", what)
	}
	var theirs bool
	var said string
	world.Must(a.t, json.Unmarshal(a.heard.Bytes(), &[]any{&theirs, &said}))
	if ours != theirs {
		a.t.Errorf("%s: they do not agree: %v (%+v), the other program: %s", what, ours, r, said)
	} else if want != either && ours != (want == hidden) {
		a.t.Errorf("%s: whole is %v: %+v", what, ours, r)
	}
	if a.tries%97 == 1 && len(heads) == 0 {
		a.cli++
		out, code := a.w.Command("audit", "verify", "--dir", a.dir)
		if (code == 0) != ours || code != 0 && code != 1 || !ours && r != nil && !strings.Contains(out, filepath.Join(a.dir, r.Problems[0].String())) {
			a.t.Errorf("%s: exit status %d: %s", what, code, out)
		}
	}
}

// with returns the good folder with one file that is another; nil removes it.
func (a *arena) with(name string, b []byte) map[string][]byte {
	files := maps.Clone(a.good)
	if files[name] = b; b == nil {
		delete(files, name)
	}
	return files
}

// logs returns the names of the files with lines.
func (a *arena) logs() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.good)), func(n string) bool { return !strings.HasSuffix(n, ".jsonl") })
}

// growing: nothing in the folder tells where it ends.
func (a *arena) growing(name string) bool { return name == "chain.jsonl" || name == a.open+".jsonl" }

// independent has the verifier of another language check a folder.
func independent(w *world.World, n world.Node, dir string, heads ...string) (said string, ok bool) {
	w.T.Helper()
	script := world.Source("e2e", "clients", "verify-audit.mjs")
	b, err := exec.Command(n.Program, append([]string{script, dir}, heads...)...).CombinedOutput()
	return string(b), err == nil
}

// TestTwoVerifiersAgree spoils a folder in every way and has it checked by
// mcphub and by a program that knows the documentation only.
func TestTwoVerifiersAgree(t *testing.T) {
	t.Parallel()
	a := newArena(t, world.RequireNode(t))
	a.try("untouched", a.good, hidden)
	a.bytes()
	a.lines()
	a.files()
	a.ends()
	if a.tries < 300 || a.cli < 3 {
		t.Errorf("%d tries, %d of them on the command line, are too few to mean anything", a.tries, a.cli)
	}
	t.Logf("%d ways to spoil a folder of %d files", a.tries, len(a.good))
}

// bytes changes each byte, and cuts each file off at each of them: in the short
// run at some, and at the last ones, which matter.
func (a *arena) bytes() {
	flips, step := []byte{1}, 181
	if world.LongCases(a.t, 1, 3) > 1 {
		flips, step = []byte{1, 0x20, 0x80}, 1
	}
	for _, name := range a.logs() {
		b := a.good[name]
		for at := range b {
			if at%step != 0 && at < len(b)-4 {
				continue
			}
			want := found
			if a.growing(name) && at == len(b)-1 {
				want = either // the last line has lost its end
			}
			for _, flip := range flips {
				other := slices.Clone(b)
				other[at] ^= flip
				a.sample(fmt.Sprintf("%s: byte %d ^ %d", name, at, flip), a.with(name, other), want)
			}
			want = found
			if a.growing(name) {
				want = either
			}
			a.sample(fmt.Sprintf("%s: cut off at %d", name, at), a.with(name, b[:at]), want)
		}
	}
}

// lines removes, doubles, swaps and inserts lines.
func (a *arena) lines() {
	foreign := bytes.SplitAfter(a.good[a.shared+".jsonl"], []byte("\n"))[1]
	for _, name := range a.logs() {
		lines := bytes.SplitAfter(a.good[name], []byte("\n"))
		lines = lines[:len(lines)-1]
		for i := range lines {
			want := found
			if i == len(lines)-1 && a.growing(name) {
				want = either // the newest line is gone
			}
			a.sample(fmt.Sprintf("%s: line %d removed", name, i+1), a.with(name, bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil)), want)
			for _, insert := range [][]byte{foreign, []byte("{}\n"), []byte("\n"), []byte("\x00\x00\n")} {
				a.sample(fmt.Sprintf("%s: %q inserted before line %d", name, insert, i+1), a.with(name, bytes.Join(slices.Insert(slices.Clone(lines), i, insert), nil)), found)
			}
			for j := range lines {
				a.sample(fmt.Sprintf("%s: line %d again at %d", name, i+1, j+1), a.with(name, bytes.Join(slices.Insert(slices.Clone(lines), j, lines[i]), nil)), found)
				if i < j {
					other := slices.Clone(lines)
					other[i], other[j] = other[j], other[i]
					a.sample(fmt.Sprintf("%s: lines %d and %d swapped", name, i+1, j+1), a.with(name, bytes.Join(other, nil)), found)
				}
			}
			crlf := slices.Clone(lines)
			crlf[i] = append(slices.Clone(bytes.TrimSuffix(lines[i], []byte("\n"))), "\r\n"...)
			a.sample(fmt.Sprintf("%s: CRLF in line %d", name, i+1), a.with(name, bytes.Join(crlf, nil)), found)
		}
		a.sample(name+": CRLF", a.with(name, bytes.ReplaceAll(a.good[name], []byte("\n"), []byte("\r\n"))), found)
		a.sample(name+": a byte order mark", a.with(name, append([]byte("\xef\xbb\xbf"), a.good[name]...)), found)
		for _, garbage := range []string{"\n", "x\n", "{}\n", "\r", "x", " ", "\x00\x00\x00", string(lines[0][:40])} {
			want := found
			if a.growing(name) && !strings.HasSuffix(garbage, "\n") {
				want = hidden // a line that is being written, or was cut off
			}
			rotated := name != a.closed+".jsonl" && strings.HasPrefix(name, a.closed)
			if rotated {
				want = found
			}
			a.sample(fmt.Sprintf("%s: %q behind the end", name, garbage), a.with(name, append(slices.Clone(a.good[name]), garbage...)), want)
		}
	}
}

// files removes, renames, replaces and adds whole files.
func (a *arena) files() {
	names := a.logs()
	for _, name := range names {
		a.try(name+" removed", a.with(name, nil), found)
		a.try(name+" emptied", a.with(name, []byte{}), found)
		for what, to := range map[string]string{"other log": "00000000-0000-4000-8000-000000000000" + name[min(36, len(name)-6):], "no log": "x" + name, "longer": strings.TrimSuffix(name, ".jsonl") + "x.jsonl",
			"upper case": strings.ToUpper(strings.TrimSuffix(name, ".jsonl")) + ".jsonl"} {
			files := a.with(name, nil)
			files[to] = a.good[name]
			want := found
			if what == "longer" && strings.Contains(name, "-size") {
				want = hidden // it is the same log, by any name that begins with its own
			}
			a.try(name+" renamed: "+what, files, want)
		}
		for _, other := range names {
			if name < other {
				files := a.with(name, a.good[other])
				files[other] = a.good[name]
				want := found
				if strings.HasPrefix(name, a.closed) && strings.HasPrefix(other, a.closed) && strings.Contains(name, "-size") && strings.Contains(other, "-size") {
					want = hidden // names of rotated files tell no order
				}
				a.try(name+" swapped with "+other, files, want)
			}
			if name != other {
				a.sample(name+" replaced by "+other, a.with(name, a.good[other]), found)
				lines := bytes.SplitAfter(a.good[other], []byte("\n"))
				for i := 1; i < len(lines)-1; i++ {
					own := bytes.SplitAfter(a.good[name], []byte("\n"))
					if i < len(own)-1 {
						a.sample(fmt.Sprintf("%s spliced with %s at %d", name, other, i), a.with(name, append(bytes.Join(own[:i], nil), bytes.Join(lines[i:], nil)...)), found)
					}
				}
			}
		}
		if strings.HasPrefix(name, a.closed) {
			files := a.with(name, a.good[name])
			files[a.closed+"-2026-01-01T00-00-03.000-size.jsonl"] = a.good[name]
			a.try(name+" doubled", files, found)
		}
		if name != "chain.jsonl" {
			files := a.with(name[:36]+".lock", []byte{})
			a.try(name+": a lock beside it", files, hidden)
			delete(files, name[:36]+".lock")
			a.try(name+": no lock beside it", files, map[bool]verdict{true: found, false: hidden}[name[:36] == a.open])
		}
	}
	stranger := "00000000-0000-4000-8000-000000000001"
	files := a.with(stranger+".jsonl", bytes.ReplaceAll(a.good[a.open+".jsonl"], []byte(a.open), []byte(stranger)))
	a.try("a log put there", files, found)
	files[stranger+".lock"] = []byte{}
	a.try("a log put there, and a lock", files, found)
	files[stranger+".jsonl"] = rechain(files[stranger+".jsonl"], 0, nil)
	a.try("a log put there that is well made, and a lock", files, found)
	files[stranger+".jsonl"] = bytes.SplitAfter(files[stranger+".jsonl"], []byte("\n"))[0]
	a.try("a log that begins", files, hidden)
	files[stranger+".jsonl"] = nil
	a.try("a log before its first line", files, hidden)
	a.try("another file", a.with("notes.jsonl", []byte("x")), hidden)
	a.now = maps.Clone(a.good)
	world.Must(a.t, os.RemoveAll(a.dir))
	world.Must(a.t, os.Mkdir(a.dir, 0o700))
	for name, b := range a.good {
		world.Must(a.t, os.WriteFile(filepath.Join(a.dir, name), b, 0o600))
	}
	world.Symlink(a.t, a.w.Path("arena", a.closed+".jsonl"), a.w.Path("arena", stranger+".jsonl"))
	a.try("a link", a.good, found)
	world.Must(a.t, os.Remove(a.w.Path("arena", stranger+".jsonl")))
}

// rechain gives line i of a file another text (nil: its own) and makes hashes
// right from there on: what someone can do who rewrites a file.
func rechain(b []byte, i int, text []byte) []byte {
	lines := bytes.SplitAfter(b, []byte("\n"))
	prev := strings.Repeat("0", 64)
	if i > 0 {
		prev = string(lines[i-1][len(lines[i-1])-67 : len(lines[i-1])-3])
	}
	for ; i < len(lines)-1; i++ {
		line := lines[i][:bytes.LastIndex(lines[i], []byte(`,"hash":"`))]
		if text != nil {
			line, text = text, nil
		}
		line = append([]byte(nil), line...)
		if at := bytes.Index(line, []byte(`"prev":"`)); at >= 0 && len(line) > at+72 {
			copy(line[at+8:], prev)
		}
		lines[i] = sealed(line)
		prev = string(lines[i][len(lines[i])-67 : len(lines[i])-3])
	}
	return bytes.Join(lines, nil)
}

// sealed ends a line with its right hash.
func sealed(line []byte) []byte {
	sum := sha256.Sum256(line)
	return append(append(append(slices.Clone(line), `,"hash":"`...), hex.EncodeToString(sum[:])...), "\"}\n"...)
}
