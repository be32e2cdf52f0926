package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/exit"
)

var update = flag.Bool("update", false, "write what validate says into testdata/validate anew")

// TestValidateMessages runs validate over the configurations in testdata/validate.
// Each archive says in its comment what is wrong, and holds hub.json, what else
// lies beside it, and under "says" all that validate writes, with its exit status.
func TestValidateMessages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its paths are written otherwise")
	}
	archives, err := filepath.Glob("testdata/validate/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d archives, %v", len(archives), err)
	}
	wrong := 0
	for _, path := range archives {
		path, err := filepath.Abs(path) // the test changes the working directory
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := validated(t, a)
			for i := range a.Files {
				f := &a.Files[i]
				if f.Name == "says" {
					wrong += findings(t, got)
				}
				switch {
				case f.Name != "says" || string(f.Data) == got:
				case *update:
					f.Data = []byte(got)
					if err := os.WriteFile(path, txtar.Format(a), 0o600); err != nil {
						t.Fatal(err)
					}
				default:
					t.Errorf("got:\n%s\nwant:\n%s", got, f.Data)
				}
			}
		})
	}
	if wrong < 60 {
		t.Errorf("%d of the configurations are wrong in some way, want at least 60", wrong)
	}
}

var (
	finding = regexp.MustCompile(`(?m)^(\S+?): (error|warning): (.*)$`)
	placed  = regexp.MustCompile(`^hub\.json:[0-9]+:[0-9]+$`)
	cure    = regexp.MustCompile(`; .|, want |: found .* want | must `)
)

// findings holds that each finding says where it is and what to do, and tells
// whether there is any.
func findings(t *testing.T, said string) int {
	t.Helper()
	all := finding.FindAllStringSubmatch(said, -1)
	for _, f := range all {
		if !placed.MatchString(f[1]) {
			t.Errorf("it says not where: %s", f[0])
		}
		if !cure.MatchString(f[3]) {
			t.Errorf("it says not what to do: %s", f[0])
		}
	}
	return min(len(all), 1)
}

// marking is a program that leaves a mark beside itself when it is started.
const marking = "#!/bin/sh\n: > \"$0.started\"\nexit 1\n"

// validated returns what validate writes about an archive, laid out in a folder
// whose name it does not know. npx and node are on its PATH.
func validated(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	archive := *a
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin/npx", "bin/node"} {
		archive.Files = append(archive.Files[:len(archive.Files):len(archive.Files)], txtar.File{Name: name, Data: []byte(marking)})
	}
	for _, f := range archive.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.ReplaceAll(f.Data, []byte("$WORK"), []byte(dir)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for name, value := range map[string]string{
		"PATH": filepath.Join(dir, "bin"), "HOME": filepath.Join(dir, "home"), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": filepath.Join(dir, "state"),
		"XDG_CACHE_HOME": filepath.Join(dir, "cache"), "XDG_RUNTIME_DIR": "", "TMPDIR": dir, "MCPHUB_CONFIG": "", "MCPHUB_TEST_TOKEN": "value-of-the-variable",
	} {
		t.Setenv(name, value)
	}
	os.Unsetenv("MCPHUB_ROOTS")
	os.Unsetenv("MCPHUB_PROJECT_ROOT")
	known(t, filepath.Join(dir, "cache", "mcphub", "definitions"))
	var out, said bytes.Buffer
	src := newSource()
	src.Config = "hub.json"
	err = validateConfig(src, &out, &said, false)
	if started, _ := filepath.Glob(filepath.Join(dir, "bin", "*.started")); len(started) > 0 {
		t.Errorf("validate has started %q", started)
	}
	if err != nil {
		fmt.Fprintf(&said, "mcphub: %s\n", err)
	}
	text := strings.ReplaceAll(fmt.Sprintf("%s%sexit status %d\n", &said, &out, exit.Status(err)), dir, "$WORK")
	return strings.ReplaceAll(text, " ($WORK/bin)", "") // where a program was looked for
}

// TestValidateSaysWhoShares: if the entry does not say it, and clients share the hub.
func TestValidateSaysWhoShares(t *testing.T) {
	t.Chdir(t.TempDir())
	for mode, several := range map[string]bool{"off": false, "auto": runtime.GOOS == "linux"} {
		if err := os.WriteFile("hub.json", []byte(`{"attach": "`+mode+`", "mcpServers": {"files": {"builtin": "files"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		src := newSource()
		src.Config = "hub.json"
		var out bytes.Buffer
		if err := validateConfig(src, &out, io.Discard, false); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "share roots: the profile mcphub-files says") != several {
			t.Errorf("%s: %s", mode, &out)
		}
	}
}

// known has an earlier run of a hub remember two tools of a server: "known", that
// is npx with the argument pkg.
func known(t *testing.T, folder string) {
	t.Helper()
	id := sha256.Sum256([]byte(`["known","","npx","pkg"]`))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, hex.EncodeToString(id[:])+".catalogue"), []byte(`{"read_file":[{}],"write_file":[{}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestExamples holds that validate finds nothing in the examples, if the
// programs, directories, variables and tokens that they name are there.
func TestExamples(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its paths are written otherwise")
	}
	examples, err := filepath.Glob("../../docs/examples/*.json")
	if err != nil || len(examples) < 3 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	texts := map[string][]byte{}
	for _, path := range append(examples, "../../hub.json.example") {
		if texts[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range texts {
		// As it stands, and with what no example says.
		for _, tc := range []struct{ add, end string }{
			{"", "\nok\nexit status 0\n"},
			{`"polcy": {},`, "\nexit status 3\n"},
		} {
			t.Run(filepath.Base(path)+tc.add, func(t *testing.T) {
				t.Setenv("TICKETS_TOKEN", "value-of-the-variable")
				text := bytes.Replace(text, []byte("\n{\n"), []byte("\n{\n"+tc.add), 1)
				a := &txtar.Archive{Files: []txtar.File{
					{Name: "hub.json", Data: bytes.ReplaceAll(text, []byte("/srv/"), []byte("$WORK/srv/"))},
					{Name: "bin/uvx", Data: []byte(marking)},
					{Name: "home/work/project/main.go"},
				}}
				for _, who := range []string{"alice", "bob", "nightly"} {
					a.Files = append(a.Files, txtar.File{Name: "tokens/" + who, Data: []byte("secret-of-" + who + "-0123456789\n")},
						txtar.File{Name: "srv/team/" + who + "/release/notes"}, txtar.File{Name: "srv/team/shared/notes"})
				}
				if got := validated(t, a); !strings.HasSuffix(got, tc.end) {
					t.Errorf("validate says:\n%s", got)
				}
			})
		}
	}
}

// TestShowPolicy: what mcphub validate prints.
func TestShowPolicy(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, d := range []string{"Documents", "sandbox"} {
		if err := os.Mkdir(filepath.Join(home, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	src := newSource()
	src.Config = filepath.Join(home, "hub.json")
	if err := os.WriteFile(src.Config, []byte(`{"mcpServers": {}, "policy": {"sandbox": "`+home+`/sandbox", "rules": [{"name": "docs", "then": "allow", "if": {"tools": ["read_*"], "paths": {"roles": ["read"], "within": "~/Documents"}}},
		{"then": "escalate", "if": {"paths": {"within": "~/none", "outside": true}}}, {"name": "all", "then": "deny"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := src.Read(io.Discard, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	showPolicy(&out, made.Hub.Checker)
	for _, want := range []string{"inside every boundary: " + home + "/sandbox", "docs", "allow read of paths within " + home + "/Documents by tools read_*", "/hub.json:1", "rule 2", "outside the boundary -- the directory is not there", "deny every call"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	showPolicy(io.Discard, nil)
}

// TestValidateJSON holds the shape of validate --json.
func TestValidateJSON(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hub.json")
	text := `{ "mcpServers": { "f": { "builtin": "files" }, "b": { "builtin": "file" } } }`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	src := newSource()
	src.Config = file
	var out bytes.Buffer
	if err := validateConfig(src, &out, io.Discard, true); exit.Status(err) != exit.Config {
		t.Errorf("exit status %d, want %d: %v", exit.Status(err), exit.Config, err)
	}
	var got, want any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(fmt.Appendf(nil, `{"ok": false, "config": %[1]q, "problems": [{"file": %[1]q, "line": 1, "column": 66,
		"key": "mcpServers.b.builtin", "severity": "error", "text": "found \"file\", want \"files\"", "hint": "did you mean \"files\"?"}]}`, file), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
