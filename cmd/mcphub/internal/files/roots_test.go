package files

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcphub/internal/jsonrpc"
	"mcphub/rootsmgr/platform"
)

func TestRootsReplaceDirectories(t *testing.T) {
	t.Parallel()
	cli := folder(t, map[string]string{"f": "cli"})
	one := folder(t, map[string]string{"f": "one"})
	two := folder(t, map[string]string{"f": "two", "nested/g": "n"})
	roots := &rootList{}
	roots.set(one)
	c := connect(t, quiet(cli), roots)
	allowed := func(dirs ...string) {
		t.Helper()
		wantText(t, c, "list_allowed_directories", args{}, "Allowed directories:\n"+strings.Join(dirs, "\n"))
	}
	change := func(dirs ...string) {
		t.Helper()
		roots.set(dirs...)
		must(t, c.RootListChanges(t.Context()))
	}
	// No waiting here: each call comes right behind the notification.
	allowed(one)
	wantText(t, c, "read_text_file", args{"path": "f"}, "one")
	wantError(t, c, "read_text_file", args{"path": filepath.Join(cli, "f")}, "access denied", strings.Trim(strconv.Quote(one), `"`))
	change(two, one, two)
	wantText(t, c, "read_text_file", args{"path": "f"}, "two")
	allowed(two, one)
	wantText(t, c, "read_text_file", args{"path": filepath.Join(one, "f")}, "one")
	change(filepath.Join(two, "nested"), two)
	allowed(filepath.Join(two, "nested"), two)
	wantText(t, c, "read_text_file", args{"path": "g"}, "n")
	wantText(t, c, "read_text_file", args{"path": "../f"}, "two")
	change(filepath.Join(two, "nested"))
	wantError(t, c, "read_text_file", args{"path": filepath.Join(two, "f")}, "access denied")

	change()
	allowed()
	for _, path := range []string{"f", filepath.Join(one, "f"), filepath.Join(cli, "f")} {
		wantError(t, c, "read_text_file", args{"path": path}, "access denied", "gave an empty list of roots")
	}
	change(one)
	wantText(t, c, "read_text_file", args{"path": "f"}, "one")

	// A failed answer keeps what there was.
	roots.mu.Lock()
	roots.err = errors.New("not now")
	roots.mu.Unlock()
	must(t, c.RootListChanges(t.Context()))
	wantText(t, c, "read_text_file", args{"path": "f"}, "one")
	res, _ := ask(t, c, "list_allowed_directories", args{})
	if last, _ := structured(t, res)["lastError"].(string); !strings.Contains(last, "not now") {
		t.Errorf("lastError %q", last)
	}
}

func TestRootsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"f": "ok", "file": ""})
	cli := folder(t, map[string]string{"f": "cli"})
	roots := &rootList{uris: []string{
		"https://example.org/x", platform.Host().FormatURI(filepath.Join(dir, "none")), platform.Host().FormatURI(filepath.Join(dir, "file")),
		"file://elsewhere" + dir, dir, "", platform.Host().FormatURI(dir) + "/",
	}}
	c := connect(t, quiet(cli), roots)
	wantText(t, c, "read_text_file", args{"path": "f"}, "ok")
	res, _ := ask(t, c, "list_allowed_directories", args{})
	m := structured(t, res)
	if n := len(m["skipped"].([]any)); n != 6 {
		t.Errorf("%d skipped: %v", n, m["skipped"])
	}
	if info, err := os.Lstat(filepath.Join(dir, "none")); err == nil {
		t.Errorf("a missing root was made: %v", info)
	}
	// None of them usable is an answer too, and not a reason to use other ones.
	roots.mu.Lock()
	roots.uris = roots.uris[:3]
	roots.mu.Unlock()
	must(t, c.RootListChanges(t.Context()))
	wantError(t, c, "read_text_file", args{"path": "f"}, "none of the roots", "and 2 more")
}

// says is a client that gives this result to every question.
type says string

func (s says) Call(context.Context, string, ...[]byte) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Result: []byte(s)}, nil
}

// TestRefusalsWithoutRoots: each says which client this is, which of the three
// cases holds, and what helps.
func TestRefusalsWithoutRoots(t *testing.T) {
	t.Parallel()
	refusal := func(answer func(k *keeper)) string {
		k := newKeeper(newBounds("", nil), time.Second, quiet().o.Log)
		answer(k)
		b, _, err := k.awaitBounds(t.Context())
		if err != nil {
			return err.Error()
		}
		return b.String()
	}
	answered := func(raw string) func(k *keeper) {
		return func(k *keeper) {
			k.noteHandshake("Codex", true)
			k.noteInitialized()
			next, err := k.queryRoots(t.Context(), says(raw))
			k.settleQuery(k.wanted, next, err)
		}
	}
	for name, tc := range map[string]struct {
		answer func(k *keeper)
		want   []string
	}{
		"none":          {func(k *keeper) { k.noteHandshake("Codex", false) }, []string{`the client "Codex" gives no roots`, "mcphub files DIR"}},
		"empty":         {answered(`{"roots":[]}`), []string{`the client "Codex" gave an empty list of roots`, "open a folder"}},
		"empty, by hub": {answered(`{"roots":[],"_meta":{"mcphub/roots":"Because so."}}`), []string{"no directory is allowed: Because so."}},
		"other meta":    {answered(`{"roots":[],"_meta":{"mcphub/roots":7}}`), []string{"gave an empty list of roots"}},
		"no answer":     {answered(`{}`), []string{`the client "Codex" did not give its roots`, "holds no list of roots", "mcphub files DIR"}},
		"malformed":     {answered(`{"roots":[7,{}]}`), []string{`did not give its roots`, "none of the 2 entries"}},
		"none usable":   {answered(`{"roots":[{},{"uri":"https://x/"}]}`), []string{`none of the roots that the client "Codex" gave can be used`}},
		"no handshake":  {func(*keeper) {}, []string{"send initialize first"}},
	} {
		got := refusal(tc.answer)
		for _, w := range tc.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is missing in %q", name, w, got)
			}
		}
	}
}

// TestRootIsNotFollowedOut: what can write in one root puts a link instead of
// another that lies in it. The same link by itself is the control.
func TestRootIsNotFollowedOut(t *testing.T) {
	t.Parallel()
	base := folder(t, map[string]string{"p/in/f": "in", "out/f": "out", "p/gen": "-> ../out", "p/near": "-> in", "alias": "-> p", "p/hop": "-> ../far", "far": "-> out"})
	for _, tc := range []struct{ roots, want []string }{
		{[]string{"p", "p/gen"}, []string{"p"}}, {[]string{"p/gen", "p"}, []string{"p"}}, {[]string{"p", "alias/gen"}, []string{"p"}},
		{[]string{"p", "p/hop"}, []string{"p"}}, {[]string{"p", "p/near"}, []string{"p", "p/in"}}, {[]string{"p/gen"}, []string{"out"}}, {[]string{"alias", "out"}, []string{"p", "out"}},
	} {
		var list []asked
		for _, r := range tc.roots {
			list = append(list, asked{raw: filepath.Join(base, r)})
		}
		b := newBounds("", list)
		var got []string
		for _, p := range b.allowedPaths() {
			rel, _ := filepath.Rel(base, p)
			got = append(got, filepath.ToSlash(rel))
		}
		if !slices.Equal(got, tc.want) || len(got)+len(b.skipped) != len(tc.roots) {
			t.Errorf("%q: %q, want %q; skipped %v", tc.roots, got, tc.want, b.skipped)
		}
	}
	b := newBounds("", []asked{{raw: filepath.Join(base, "out/f")}})
	if len(b.skipped) != 1 || !strings.Contains(b.skipped[0].Reason, "a single file") {
		t.Errorf("%v", b.skipped)
	}
}

func TestSpellings(t *testing.T) {
	base := folder(t, map[string]string{"real/f": "x", "link": "-> real"})
	home := folder(t, map[string]string{"f": "home"})
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	roots := &rootList{}
	roots.set(filepath.Join(base, "link"), home)
	c := connect(t, quiet(), roots)
	wantText(t, c, "list_allowed_directories", args{}, "Allowed directories:\n"+filepath.Join(base, "real")+"\n"+home)
	for _, p := range []string{"f", filepath.Join(base, "link/f"), filepath.Join(base, "real/f"), platform.Host().FormatURI(filepath.Join(base, "link", "f"))} {
		wantText(t, c, "read_text_file", args{"path": p}, "x")
	}
	wantText(t, c, "read_text_file", args{"path": "~/f"}, "home")
	wantText(t, c, "list_directory", args{"path": "~"}, "[FILE] f")
	wantError(t, c, "read_text_file", args{"path": "~x/f"}, "does not exist")
}

// TestCallBeforeRoots: calls that are in the pipe before the answer wait for it,
// and nothing else does.
func TestCallBeforeRoots(t *testing.T) {
	t.Parallel()
	cli := folder(t, map[string]string{"f": "cli"})
	root := folder(t, map[string]string{"f": "root"})
	for name, lines := range map[string][]string{
		"after initialized":  {helloRoots, initialized, read(1, "f"), read(2, filepath.Join(cli, "f"))},
		"before initialized": {helloRoots, read(1, "f"), read(2, filepath.Join(cli, "f")), initialized},
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t, quiet(cli))
			for _, l := range append(lines, `{"jsonrpc":"2.0","id":"p","method":"ping"}`) {
				p.send("%s", l)
			}
			var question json.RawMessage
			seen := map[string]bool{}
			for range 3 { // in whatever order: the handshake, the ping, the question; no call
				m := p.next()
				seen[string(m.ID)+m.Method] = true
				if m.Method == "roots/list" {
					question = m.ID
				}
			}
			if !seen[`"i"`] || !seen[`"p"`] || question == nil {
				t.Fatalf("%v", seen)
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":%q,"name":null}]}}`, question, platform.Host().FormatURI(root))
			answers := map[string]string{}
			for range 2 {
				m := p.next()
				answers[string(m.ID)] = string(m.Result)
			}
			if !strings.Contains(answers["1"], `"text":"root"`) || !strings.Contains(answers["2"], "access denied") {
				t.Errorf("%v", answers)
			}
		})
	}
}

// TestQueriesAreFew: a burst of notifications costs at most one more query, and a
// call after it waits for that one.
func TestQueriesAreFew(t *testing.T) {
	t.Parallel()
	root := folder(t, map[string]string{"f": "root"})
	p := dial(t, quiet())
	p.send(helloRoots)
	p.next()
	p.send(initialized)
	first := p.next()
	for range 50 {
		p.send(changed)
	}
	p.send("%s", read(1, "f"))
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":%q}]}}`, first.ID, platform.Host().FormatURI(root))
	second := p.next()
	if second.Method != "roots/list" {
		t.Fatalf("the call was answered by the overtaken roots: %s", second.Result)
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":%q}]}}`, first.ID, "file:///") // never asked for any more
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, second.ID)
	if m := p.next(); string(m.ID) != "1" || !strings.Contains(string(m.Result), "access denied") {
		t.Errorf("%s %s", m.ID, m.Result)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_allowed_directories"}}`)
	if m := p.next(); string(m.ID) != "2" {
		t.Errorf("one more query: %+v", m)
	}
}

func TestRootsNeverAnswered(t *testing.T) {
	t.Parallel()
	cli := folder(t, map[string]string{"f": "cli"})
	other := folder(t, map[string]string{"f": "other"})
	srv := quiet(cli)
	srv.rootsTimeout = 30 * time.Millisecond
	p := dial(t, srv)
	p.send(helloRoots)
	p.next()
	p.send("%s", read(0, "f")) // initialized does not come either
	if m := p.next(); !strings.Contains(string(m.Result), `"text":"cli"`) {
		t.Fatalf("%s", m.Result)
	}
	p.send(initialized) // now it may be asked
	question := p.next()
	p.send("%s", read(1, "f"))
	if m := p.next(); m.Method != "notifications/cancelled" {
		t.Fatalf("the client is not told that nobody waits any more: %+v", m)
	}
	if m := p.next(); !strings.Contains(string(m.Result), `"text":"cli"`) {
		t.Fatalf("%s", m.Result)
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":%q}]}}`, question.ID, platform.Host().FormatURI(other)) // too late
	p.send("%s", read(2, "f"))
	if m := p.next(); !strings.Contains(string(m.Result), `"text":"cli"`) {
		t.Fatalf("a late answer was taken: %s", m.Result)
	}

	p = dial(t, quiet(cli)) // who waits long enough
	p.send(helloRoots)
	p.next()
	p.send(initialized)
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, p.next().ID)
	for _, malformed := range []string{`{}`, `{"roots":null}`, `{"roots":{}}`, `[]`, `null`} {
		p.send(changed)
		question = p.next()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, question.ID, malformed)
		p.send("%s", read(3, "f"))
		if m := p.next(); !strings.Contains(string(m.Result), `"text":"cli"`) {
			t.Fatalf("%s: %s", malformed, m.Result)
		}
	}
}

func TestRootsNotDeclared(t *testing.T) {
	t.Parallel()
	cli := folder(t, map[string]string{"f": "cli"})
	p := dial(t, quiet(cli))
	p.send("%s", read(0, "f"))
	if m := p.next(); !strings.Contains(string(m.Result), "send initialize first") {
		t.Fatalf("judged before the client was known: %s", m.Result)
	}
	p.send(hello)
	p.next()
	p.send(initialized)
	p.send(changed)
	p.send("%s", read(1, "f"))
	if m := p.next(); m.Method != "" || !strings.Contains(string(m.Result), `"text":"cli"`) {
		t.Errorf("%+v", m)
	}
}

// TestSessionsShareNothing: two clients of one Server have their own roots.
func TestSessionsShareNothing(t *testing.T) {
	t.Parallel()
	one, two := folder(t, map[string]string{"f": "one"}), folder(t, map[string]string{"f": "two"})
	srv := quiet()
	r1, r2 := &rootList{}, &rootList{}
	r1.set(one)
	r2.set(two)
	c1, c2 := connect(t, srv, r1), connect(t, srv, r2)
	wantText(t, c1, "read_text_file", args{"path": "f"}, "one")
	wantText(t, c2, "read_text_file", args{"path": "f"}, "two")
	wantError(t, c1, "read_text_file", args{"path": filepath.Join(two, "f")}, "access denied")
}

func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	k := newKeeper(newBounds("", nil), 0, quiet().o.Log)
	k.noteHandshake("t", true) // no one runs, so no one answers
	if _, _, err := k.awaitBounds(context.Background()); err == nil {
		t.Error("a call was judged without an answer")
	}
}
