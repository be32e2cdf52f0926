package setup

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/children/consent"
)

// What belongs to an entry waits for a person as hub.json does if a server could have written it: the variables of its program, whom it
// trusts, and the program that prints its headers. Until then that server does not run.
func TestFilesOfEntriesAreAccepted(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]string{
		"envFile":             `"command": "/bin/true", "envFile": "FILE"`,
		"tls.ca":              `"url": "https://mcp.example.com/mcp", "tls": {"ca": "FILE"}`,
		"headersFrom.command": `"url": "https://mcp.example.com/mcp", "headersFrom": {"command": "FILE"}`,
	} {
		dir, project := t.TempDir(), t.TempDir()
		own := filepath.Join(project, "own")
		write := func(path, text string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "hub.json")
		write(path, `{"mcpServers": {"a": {`+strings.Replace(entry, "FILE", filepath.ToSlash(own), 1)+`}, "b": {"command": "/bin/true"}}}`)
		write(own, "A=1")
		store := consent.New(t.TempDir())
		read := func() AcceptedConfig {
			t.Helper()
			s := Source{Config: path, Consent: store}
			got, err := s.Accepted(io.Discard, nil)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		runs := func(what string, c AcceptedConfig, want bool) {
			t.Helper()
			if !c.File.Server("b").Disabled && c.File.Server("a").Disabled == want || (c.Waiting == "") != want {
				t.Errorf("%s, %s: waiting %q", name, what, c.Waiting)
			}
		}
		runs("at first", read(), true)
		write(own, "A=2")
		runs("changed where nobody but the user writes", read(), true)
		r := store.Reach()
		if err := r.Add(project); err != nil {
			t.Fatal(err)
		}
		runs("unchanged", read(), true)
		write(own, "A=3")
		c := read()
		runs("changed where a server writes", c, false)
		if !c.Asks("file:"+path) || len(c.item.Lines) != 1 || !strings.Contains(c.item.Lines[0], "a: its "+name+" "+own+" has changed") {
			t.Errorf("%s: a person is asked %+v", name, c.item)
		}
		if err := store.Accept(c.item.ID, c.item.Digest()); err != nil {
			t.Fatal(err)
		}
		runs("accepted", read(), true)
		r.Close()
	}
}
