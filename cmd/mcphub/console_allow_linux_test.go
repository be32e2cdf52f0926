package main

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcphub/children/sandbox"
	webconsole "mcphub/cmd/mcphub/internal/console"
	"mcphub/cmd/mcphub/internal/setup"
	"mcphub/e2e/needs"
)

const hubSecret = "Sup3r-S3cret-Value"

// allowing returns a console in a scratch home, with a hub.json that holds secrets around what changes.
func allowing(t *testing.T) (c *consoleSource, home, config string) {
	t.Helper()
	if sandbox.CurrentKernel().ABI == 0 {
		needs.Missing(t, "this kernel holds no server, so allow writes no path")
	}
	home = t.TempDir()
	for _, name := range []string{"MCPHUB_CONFIG", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	for _, dir := range []string{"vault", "other", `a"b<i>&amp;`, "token=abcdefabcdefabcdefabcdef", "x\u202egpj"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	config = filepath.Join(home, "hub.json")
	write(t, config, `{
  "audit": {"dir": "off"},
  "mcpServers": {
    "before": {"command": "sh", "env": {"KEY": "`+hubSecret+`"}},
    // `+hubSecret+` was the old one
    "notes": {
      "command": "sh", "args": ["--api-key", "`+hubSecret+`"] /* `+hubSecret+` */
    },
    "after": {"url": "https://example.com/?key=`+hubSecret+`"}
  }
}
`)
	return &consoleSource{src: &setup.Source{Config: config}, key: []byte("of this console")}, home, config
}

func allowEdit(server, path string, write bool) webconsole.Edit {
	return webconsole.Edit{Do: webconsole.DoAllow, Allowance: webconsole.Allowance{Server: server, Path: path, Write: write}}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What is shown is what is written, by the same code as mcphub allow, and nothing is written before.
func TestAllowOnThePage(t *testing.T) {
	c, home, config := allowing(t)
	before := read(t, config)
	a := allowEdit("notes", filepath.Join(home, "vault"), true)
	shown, err := c.showChange(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if read(t, config) != before {
		t.Error("it is written when it is shown")
	}
	text := strings.Join(shown.Lines, "\n")
	if strings.Contains(text, hubSecret) || strings.Contains(strings.Join(shown.Notes, "\n"), hubSecret) {
		t.Errorf("a secret is shown:\n%s\n%v", text, shown.Notes)
	}
	if !strings.HasPrefix(text, "--- as it is\n+++ as it would be\n@@ ") || !strings.Contains(text, `~/vault`) || strings.Count(text, "\n-") != 0 && !strings.Contains(text, `"args"`) {
		t.Errorf("the change is\n%s", text)
	}
	said, err := c.writeChange(t.Context(), a, shown.Digest)
	if err != nil || !strings.Contains(said, "added to sandbox.write of notes") {
		t.Errorf("%s, %v", said, err)
	}
	after := read(t, config)
	write(t, config, before)
	command := rootCommand()
	command.SetOut(io.Discard)
	command.SetArgs([]string{"allow", "notes", a.Path, "--write", "--config", config})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	if by := read(t, config); by != after || after == before || strings.Count(after, hubSecret) != strings.Count(before, hubSecret) {
		t.Errorf("the page writes\n%s\nthe command\n%s", after, by)
	}
	if shown, err := c.showChange(t.Context(), a); err != nil || shown.Digest != "" || shown.Lines != nil || !strings.Contains(strings.Join(shown.Notes, "\n"), "may already write it") {
		t.Errorf("what is allowed already: %+v, %v", shown, err)
	}
}

// Only what was shown is written. Each attack stands beside the same click without it.
func TestNothingElseIsWritten(t *testing.T) {
	for name, attack := range map[string]func(t *testing.T, c *consoleSource, a *webconsole.Edit, digest *string, home, config string){
		"none": nil,
		"a file that was swapped": func(t *testing.T, _ *consoleSource, _ *webconsole.Edit, _ *string, _, config string) {
			write(t, config, strings.Replace(read(t, config), `"before": {"command": "sh"`, `"before": {"command": "sh", "sandbox": "off"`, 1))
		},
		"a file that was swapped in a comment": func(t *testing.T, _ *consoleSource, _ *webconsole.Edit, _ *string, _, config string) {
			write(t, config, strings.Replace(read(t, config), "was the old one", "is the old one", 1))
		},
		"a file that was swapped in a secret": func(t *testing.T, _ *consoleSource, _ *webconsole.Edit, _ *string, _, config string) {
			write(t, config, strings.Replace(read(t, config), hubSecret, "another", 1))
		},
		"a path that leads elsewhere now": func(t *testing.T, _ *consoleSource, a *webconsole.Edit, _ *string, home, _ string) {
			if err := os.Remove(a.Path); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(home, "other"), a.Path); err != nil {
				t.Fatal(err)
			}
		},
		"another path": func(_ *testing.T, _ *consoleSource, a *webconsole.Edit, _ *string, home, _ string) {
			a.Path = filepath.Join(home, "other")
		},
		"another server": func(_ *testing.T, _ *consoleSource, a *webconsole.Edit, _ *string, _, _ string) {
			a.Server = "before"
		},
		"more than to read": func(_ *testing.T, _ *consoleSource, a *webconsole.Edit, _ *string, _, _ string) { a.Write = true },
		"no digest": func(_ *testing.T, _ *consoleSource, _ *webconsole.Edit, digest *string, _, _ string) {
			*digest = ""
		},
		"the digest of another console": func(t *testing.T, c *consoleSource, a *webconsole.Edit, digest *string, _, _ string) {
			other := *c
			other.key = []byte("of another one")
			shown, err := other.showChange(t.Context(), *a)
			if err != nil || shown.Digest == "" {
				t.Fatalf("%+v, %v", shown, err)
			}
			*digest = shown.Digest
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, home, config := allowing(t)
			a := allowEdit("notes", filepath.Join(home, "vault"), false)
			shown, err := c.showChange(t.Context(), a)
			if err != nil || shown.Digest == "" {
				t.Fatalf("%+v, %v", shown, err)
			}
			digest := shown.Digest
			if attack != nil {
				attack(t, c, &a, &digest, home, config)
			}
			before := read(t, config)
			said, err := c.writeChange(t.Context(), a, digest)
			if after := read(t, config); (err == nil) != (attack == nil) || (after != before) != (attack == nil) {
				t.Errorf("it writes\n%s\n%s, %v", after, said, err)
			}
		})
	}
}

// A file that changes while it is being written is left alone.
func TestWritingLooksAtTheFileAgain(t *testing.T) {
	c, home, config := allowing(t)
	p, _, err := c.planEdit(t.Context(), allowEdit("notes", filepath.Join(home, "vault"), false))
	if err != nil {
		t.Fatal(err)
	}
	swapped := strings.Replace(read(t, config), `"before"`, `"earlier"`, 1)
	write(t, config, swapped)
	if _, err := p.put(); err == nil || read(t, config) != swapped {
		t.Errorf("it is written over: %v", err)
	}
	write(t, config, string(p.before)) // the control
	if _, err := p.put(); err != nil || read(t, config) != string(p.after) {
		t.Errorf("it is not written: %v", err)
	}
}

// What the page cannot show as it would be written is for a terminal.
func TestWhatAPageCannotShowIsNotWritten(t *testing.T) {
	c, home, _ := allowing(t)
	for dir, want := range map[string]bool{
		"vault": true, `a"b<i>&amp;`: true, // html/template escapes that
		"x\u202egpj": false, "x\x1b[31m": false, "token=abcdefabcdefabcdefabcdef": false,
	} {
		a := allowEdit("notes", filepath.Join(home, dir), false)
		shown, err := c.showChange(t.Context(), a)
		if (err == nil && shown.Digest != "") != want {
			t.Errorf("%q: %+v, %v", dir, shown, err)
		}
		if want && !strings.Contains(strings.Join(shown.Lines, "\n"), strconv.Quote("~/"+dir)) {
			t.Errorf("%q: %+v, %v", dir, shown, err)
		}
	}
	for _, run := range []struct {
		words []string
		want  *webconsole.Allowance
	}{
		{[]string{"allow", "notes", "/x"}, &webconsole.Allowance{Server: "notes", Path: "/x"}},
		{[]string{"allow", "notes", "/x", "--write"}, &webconsole.Allowance{Server: "notes", Path: "/x", Write: true}},
		{[]string{"allow", "--write", "--", "-n", "/x"}, &webconsole.Allowance{Server: "-n", Path: "/x", Write: true}},
		{[]string{"allow", "notes", "/x", "/y"}, nil},
		{[]string{"allow", "notes\u202e", "/x"}, nil},
		{[]string{"allow", "notes", "/x\xff"}, nil},
		{[]string{"allow", "--", "--write", "/x"}, nil},
		{[]string{"learn", "notes", "/x"}, nil},
		{nil, nil},
	} {
		if got := allowanceOf(run.words); (got == nil) != (run.want == nil) || got != nil && *got != *run.want {
			t.Errorf("%q: %+v", run.words, got)
		}
	}
}
