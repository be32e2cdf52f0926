package validate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/policy"
)

// An oddWorld has one root with a name of a test's choice, alone in its folder but for what the test puts there.
type oddWorld struct {
	top, root string
	c         *Checker
	rootsView rootsmgr.RootsView
	env       map[string]string
}

func newOddWorld(t testing.TB, top, name string) *oddWorld {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("these are names of Unix")
	}
	top, err := filepath.EvalSymlinks(top)
	if err != nil {
		t.Fatal(err)
	}
	w := &oddWorld{top: top, root: filepath.Join(top, name)}
	if err := os.MkdirAll(filepath.Join(w.root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"f.txt", "sub/g.txt"} {
		if err := os.WriteFile(filepath.Join(w.root, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": filepath.Join(top, "home"), "LANG": "y"}
	w.env = env
	w.c, err = NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x"}}, Home: env["HOME"], Getenv: func(n string) string { return env[n] }})
	if err != nil {
		t.Fatal(err)
	}
	snap := rootsmgr.NewSnapshot(guard.OS{}, 1, rootsmgr.OriginConfig, []rootsmgr.RootEntry{{URI: w.root}})
	if len(snap.Roots()) != 1 {
		t.Fatalf("%q is no root: %v", w.root, snap.Skipped())
	}
	w.rootsView = rootsmgr.RootsView{Snapshot: snap, Case: rootsmgr.CaseKnown}
	return w
}

func (w *oddWorld) judge(t interface{ Fatal(...any) }, tool, raw string) *Verdict {
	def, err := w.c.PrepareTool("child", "", []byte(fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, tool)))
	if err != nil {
		t.Fatal(err)
	}
	scan, err := w.c.Scan(def, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return w.c.Judge(scan, CallContext{Cwd: w.root, Served: w.rootsView.Snapshot.Paths()}, w.rootsView)
}

func quotedJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// oddPieces make names that are patterns, variables, escapes, lists or quotes to someone.
var oddPieces = []string{"[x]", "[ab]", "[!a]", "[", "]", "{a,b}", "{", "}", "{1..3}", "*", "?", "$HOME", "$LANG", "${LANG}", "$", "%41", "%20", "#1", "#", " ", "'", `"`, "`", ",", ";", ":", "&", "|", "=", "@", "!", "(", ")", "<", ">", "~", "+", "-", "^", `a\b`, "a", "b", "é", "e\u0301", "ｅ", "@(a|b)"}

// homeInList are the names that hold the home folder as part of a list. It is there, so they are read so.
var homeInList = regexp.MustCompile(`[,;:=@|& ][^a-z]*[~$]`)

// TestOddRoots: whatever a root is called, every path below it passes as a plain argument, and what lies outside does not.
func TestOddRoots(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n := 0
	seeds.Check(t, func(rt *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(oddPieces), 1, 4).Draw(rt, "name"), "")
		if homeInList.MatchString(name) {
			rt.Skip("the home folder, in a list")
		}
		n++
		w := newOddWorld(t, makeDir(t, base, fmt.Sprint(n)), name)
		for _, file := range []string{"f.txt", "sub/g.txt", "new.txt", "sub", "sub/new"} {
			for _, key := range []string{"path", "thing"} {
				if v := w.judge(rt, "read_it", fmt.Sprintf("{%q:%s}", key, quotedJSON(filepath.Join(w.root, file)))); v.Decision != policy.Allow {
					rt.Errorf("root %q, %s %s: %+v", name, key, file, v.Deciding)
				}
			}
			if v := w.judge(rt, "read_it", fmt.Sprintf(`{"uri":%s}`, quotedJSON(platform.Host().FormatURI(filepath.Join(w.root, file))))); v.Decision != policy.Allow {
				rt.Errorf("root %q, URI %s: %+v", name, file, v.Deciding)
			}
		}
		for _, out := range []string{w.root + "/../out.txt", w.root + "/sub/../../out.txt", w.root + "/{sub,..}/../out.txt", w.root + "/%2e%2e/out.txt", w.top + "/out.txt", w.root + "x", w.root + "x/f.txt"} {
			if err := os.WriteFile(filepath.Join(w.top, "out.txt"), nil, 0o600); err != nil {
				rt.Fatal(err)
			}
			for _, key := range []string{"path", "thing"} {
				if v := w.judge(rt, "read_it", fmt.Sprintf("{%q:%s}", key, quotedJSON(out))); v.Decision != policy.Deny {
					rt.Errorf("root %q: %s %s is allowed", name, key, out)
				}
			}
		}
	})
}

func makeDir(t testing.TB, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Where something else answers to the name of a root, read another way, neither is guessed to be meant. The control is the
// same call without it.
func TestOddRootsWithNeighbours(t *testing.T) {
	t.Parallel()
	base := t.TempDir() // those of subtests have their names
	for name, neighbour := range map[string]string{
		"[x]": "x", "[ab]": "b", "{a,b}": "b", "%41": "A", "$LANG": "y", "${LANG}": "y", "a*": "ab", "a?": "ac", `a\b`: "a/b", "ｅ": "e", "@(a|b)": "a",
		"{a}": "a", "{[x]}": "x", "{{a}b}": "ab", "{[ab]}": "b",
	} {
		t.Run(name, func(t *testing.T) {
			w := newOddWorld(t, makeDir(t, base, fmt.Sprintf("%x", name)), name)
			for _, path := range []string{w.root + "/f.txt", w.root + "/new.txt"} {
				raw := fmt.Sprintf(`{"path":%s}`, quotedJSON(path))
				if v := w.judge(t, "read_it", raw); v.Decision != policy.Allow {
					t.Errorf("control: %s: %+v", path, v.Deciding)
				}
			}
			makeDir(t, w.top, neighbour)
			if v := w.judge(t, "read_it", fmt.Sprintf(`{"path":%s}`, quotedJSON(w.root+"/f.txt"))); v.Decision != policy.Deny {
				t.Errorf("%s may be %s too, and is allowed", w.root, neighbour)
			}
		})
	}
	// A list that begins with a root is a list all the same.
	w := newOddWorld(t, t.TempDir(), "c:")
	secret := filepath.Join(w.top, "secret")
	if v := w.judge(t, "read_it", fmt.Sprintf(`{"path":%s}`, quotedJSON(w.root+secret))); v.Decision != policy.Allow {
		t.Errorf("control: %+v", v.Deciding)
	}
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{w.root + secret, w.root + "/f.txt:" + secret, w.root + "/f.txt:/f.txt:" + secret} {
		if v := w.judge(t, "read_it", fmt.Sprintf(`{"path":%s}`, quotedJSON(value))); v.Decision != policy.Deny {
			t.Errorf("%s is allowed", value)
		}
	}
}

// A root with a blank or the like in its name stands in quotes in a shell string.
func TestOddRootsInShellStrings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "a b c", "it,s", "a:b", "a;b", "a&b", "a=b", "a@b", "a|b", "#1", "a-b", "é"} {
		w := newOddWorld(t, t.TempDir(), name)
		for _, command := range []string{"cat '%s/f.txt'", `cat "%s/f.txt" | wc -l`, `cd "%s" && make`, "ls -l '%s/sub' '%[1]s/f.txt'", "echo x > '%s/new.txt'"} {
			if v := w.judge(t, "run", fmt.Sprintf(`{"command":%s}`, quotedJSON(fmt.Sprintf(command, w.root)))); v.Decision != policy.Allow {
				t.Errorf("%q: %s: %+v", name, command, v.Deciding)
			}
		}
		if v := w.judge(t, "run", fmt.Sprintf(`{"args":["cat",%s]}`, quotedJSON(w.root+"/f.txt"))); v.Decision != policy.Allow {
			t.Errorf("%q in a vector: %+v", name, v.Deciding)
		}
	}
	w := newOddWorld(t, t.TempDir(), "a b")
	makeDir(t, w.top, "a")
	for _, command := range []string{
		"cat %s/f.txt", "ls '%s/sub' \"" + w.top + "\"/a", "ls '%s' " + w.top + "/a", "ls '%s' '" + w.top + "'", "touch %s/new", "cat '%s/../a'", "cat '%s'/../a/x", "echo x > '%sx'",
	} {
		if v := w.judge(t, "run", fmt.Sprintf(`{"command":%s}`, quotedJSON(fmt.Sprintf(command, w.root)))); v.Decision != policy.Deny {
			t.Errorf("%s is allowed", command)
		}
	}
}

// A list is split at separators of every kind, and of each kind alone: a root may hold the others in its name.
func TestOddRootInAList(t *testing.T) {
	t.Parallel()
	w := newOddWorld(t, t.TempDir(), "@@(a|b)")
	for _, rest := range []string{"/..,", "/../,x", "/..;", "/f.txt,{root}/..", "/sub/../..,"} {
		value := w.root + strings.ReplaceAll(rest, "{root}", w.root)
		if v := w.judge(t, "read_it", fmt.Sprintf(`{"path":%s}`, quotedJSON(value))); v.Decision != policy.Deny {
			t.Errorf("%s is allowed", value)
		}
	}
	other := newOddWorld(t, t.TempDir(), "[x]")
	if v := other.judge(t, "read_it", fmt.Sprintf(`{"path":%s}`, quotedJSON(other.root+"/f.txt,"+w.root))); v.Decision != policy.Deny {
		t.Errorf("a list of paths inside and outside is allowed")
	}
	for _, rest := range []string{"/f.txt", "/f.txt,"} {
		value := w.root + strings.ReplaceAll(rest, "{root}", w.root)
		if v := w.judge(t, "read_it", fmt.Sprintf(`{"path":%s}`, quotedJSON(value))); v.Decision != policy.Allow {
			t.Errorf("%s is refused: %+v", value, v.Deciding)
		}
	}
}
