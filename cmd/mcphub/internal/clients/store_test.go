package clients

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/secrets"
)

var testHub = Hub{Command: "/usr/bin/mcphub", Args: []string{"serve"}}

// newStore returns a Store whose key is kept in an encrypted file of its own.
func newStore(t testing.TB, dir string) *Store {
	t.Helper()
	kept := secrets.New(secrets.Options{FileOnly: true, Dir: t.TempDir()})
	return &Store{Dir: dir, Cipher: kept.Cipher(t.Context(), "key")}
}

// files reads all files below a folder.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	for path, text := range want {
		if got[path] != text {
			t.Errorf("%s:\ngot  %q\nwant %q", path, got[path], text)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s is left", path)
		}
	}
}

// takeOver puts the hub into a client and switches all its servers off.
func takeOver(t testing.TB, c *Profile, e Env, s *Store) {
	t.Helper()
	found, err := Read(c, e)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := PlanInstall(c, e, testHub)
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range found.Servers {
		if server.Disabled {
			continue
		}
		if _, err := p.SwitchOff(server); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Apply(p); err != nil {
		t.Fatal(err)
	}
}

func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the places are those of Linux")
	}
}

// TestTakeOverAndBack: the hub is the only server that runs, and undoing gives
// every byte back.
func TestTakeOverAndBack(t *testing.T) {
	t.Parallel()
	onLinux(t)
	for file, archive := range archives(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := clientOf(t, file)
			e := home(t, archive)
			before := files(t, e.Home)
			s := newStore(t, filepath.Join(t.TempDir(), "clients"))
			takeOver(t, c, e, s)

			found, err := Read(c, e)
			if err != nil {
				t.Fatal(err)
			}
			if found.Registered == "" {
				t.Error("the hub is not there")
			}
			for _, server := range found.Servers {
				if !server.Disabled {
					t.Errorf("%q still runs in the client", server.Name)
				}
			}
			after := files(t, e.Home)
			for path, text := range after {
				if strings.Contains(before[path], "\r\n") && strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n") {
					t.Errorf("%s has line ends of two kinds", path)
				}
			}
			if p, already, err := PlanInstall(c, e, testHub); err != nil || already == "" || p.HasChanges() {
				t.Errorf("installed twice: %q, %v", already, err)
			}
			undone, err := s.Undo(c.Name)
			if err != nil || len(undone) != 1 || undone[0].State != Restored {
				t.Errorf("got %+v, %v", undone, err)
			}
			same(t, files(t, e.Home), before)
			same(t, files(t, s.Dir), nil)
			if again, err := s.Undo(c.Name); err != nil || len(again) != 0 {
				t.Errorf("undone twice: %+v, %v", again, err)
			}
		})
	}
}

// TestInstallMakesAFile: if the client has no file, undoing leaves none, and no folder.
func TestInstallMakesAFile(t *testing.T) {
	t.Parallel()
	onLinux(t)
	for i := range All {
		c := &All[i]
		t.Run(c.Name, func(t *testing.T) {
			e := Env{OS: "linux", Home: t.TempDir(), Get: func(string) string { return "" }}
			s := newStore(t, filepath.Join(t.TempDir(), "clients"))
			takeOver(t, c, e, s)
			found, err := Read(c, e)
			if err != nil || found.Registered != HubName || len(found.Files) != 1 {
				t.Errorf("got %+v, %v", found, err)
			}
			if info, err := os.Stat(found.Files[0]); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("got %v, %v", info.Mode(), err)
			}
			// The client adds something of its own and takes it away again.
			if undone, err := s.Undo(c.Name); err != nil || undone[0].State != Deleted {
				t.Errorf("got %+v, %v", undone, err)
			}
			if left, _ := os.ReadDir(e.Home); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestEditedBetween: what someone wrote in the meantime stays.
func TestEditedBetween(t *testing.T) {
	t.Parallel()
	onLinux(t)
	for file, archive := range archives(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := clientOf(t, file)
			e := home(t, archive)
			before := files(t, e.Home)
			s := newStore(t, filepath.Join(t.TempDir(), "clients"))
			takeOver(t, c, e, s)
			want := map[string]string{}
			for path, text := range files(t, e.Home) {
				add := func(text string) string {
					// As the first setting of the file.
					switch filepath.Ext(path) {
					case ".toml":
						return "added = 1\n" + text
					case ".yaml":
						return "added: 1\n" + text
					}
					at := strings.Index(text, "{") + 1
					return text[:at] + " \"added\": 1," + text[at:]
				}
				if err := os.WriteFile(path, []byte(add(text)), 0o644); err != nil {
					t.Fatal(err)
				}
				want[path] = add(before[path])
			}
			undone, err := s.Undo(c.Name)
			if err != nil || len(undone) != 1 || undone[0].State != Edited {
				t.Errorf("got %+v, %v", undone, err)
			}
			same(t, files(t, e.Home), want)
		})
	}
}

func TestStoreIsPrivate(t *testing.T) {
	t.Parallel()
	onLinux(t)
	c, e, path := cursorWith(t, oneServer)
	s := newStore(t, filepath.Join(t.TempDir(), "state", "clients"))
	takeOver(t, c, e, s)
	if info, err := os.Stat(s.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	kept := files(t, s.Dir)
	if len(kept) != 2 {
		t.Errorf("a copy and a record are kept, not %d files", len(kept))
	}
	for path, text := range kept {
		if strings.Contains(text, "plain") {
			t.Errorf("%s shows a secret", path)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v", path, info.Mode(), err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the file's permissions changed: %v, %v", info.Mode(), err)
	}
}

// homeWith returns a home folder in which all files of a client hold a text.
func homeWith(t *testing.T, name, text string) (c *Profile, e Env, paths []string) {
	t.Helper()
	e = Env{OS: "linux", Home: t.TempDir(), Get: func(string) string { return "" }}
	c = Find(name)
	for _, place := range c.places(e) {
		if err := os.MkdirAll(filepath.Dir(place.File), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place.File, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, place.File)
	}
	return c, e, paths
}

// cursorWith returns a home folder with the file of Cursor.
func cursorWith(t *testing.T, text string) (c *Profile, e Env, path string) {
	t.Helper()
	c, e, paths := homeWith(t, "cursor", text)
	return c, e, paths[0]
}

const oneServer = `{"mcpServers": {"x": {"command": "x", "env": {"TOKEN": "plain"}}}}`

// A file that someone deleted stays deleted, and Restore gives it back. So it is where
// the hub was installed again in between.
func TestDeletedInBetween(t *testing.T) {
	t.Parallel()
	onLinux(t)
	for _, again := range []bool{false, true} {
		c, e, path := cursorWith(t, oneServer)
		s := newStore(t, filepath.Join(t.TempDir(), "clients"))
		takeOver(t, c, e, s)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		want := UndoResult{path, Gone, true}
		if again {
			takeOver(t, c, e, s)
			want.State = Deleted
		}
		for range 2 {
			undone, err := s.Undo(c.Name)
			if err != nil || len(undone) != 1 || undone[0] != want {
				t.Errorf("got %+v, %v", undone, err)
			}
			want.State = Gone
			if _, err := os.Stat(path); err == nil {
				t.Error("the file is there again")
			}
		}
		if undone, err := s.Restore(c.Name); err != nil || len(undone) != 1 || undone[0].State != Restored {
			t.Errorf("got %+v, %v", undone, err)
		}
		same(t, files(t, e.Home), map[string]string{path: oneServer})
		same(t, files(t, s.Dir), nil)
	}
}

// TestDeletedAfterServers: a file that was made for the hub, got servers and was deleted
// is given back with the servers. One that held nothing else is forgotten.
func TestDeletedAfterServers(t *testing.T) {
	t.Parallel()
	onLinux(t)
	for _, servers := range []bool{true, false} {
		c, e, path := cursorWith(t, oneServer)
		s := newStore(t, filepath.Join(t.TempDir(), "clients"))
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		takeOver(t, c, e, s)
		if servers {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			with := strings.Replace(string(text), `"mcpServers": {`, `"mcpServers": {"x": {"command": "x"},`, 1)
			if with == string(text) {
				t.Fatalf("no servers are put into %s", text)
			}
			if err := os.WriteFile(path, []byte(with), 0o644); err != nil {
				t.Fatal(err)
			}
			takeOver(t, c, e, s)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if !servers {
			takeOver(t, c, e, s)
			if undone, err := s.Undo(c.Name); err != nil || len(undone) != 1 || undone[0] != (UndoResult{path, Deleted, false}) {
				t.Errorf("got %+v, %v", undone, err)
			}
			same(t, files(t, s.Dir), nil)
			continue
		}
		if undone, err := s.Undo(c.Name); err != nil || len(undone) != 1 || undone[0] != (UndoResult{path, Gone, true}) {
			t.Errorf("got %+v, %v", undone, err)
		}
		if undone, err := s.Restore(c.Name); err != nil || len(undone) != 1 || undone[0].State != Restored {
			t.Errorf("got %+v, %v", undone, err)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), `"x": {"command": "x"}`) || strings.Contains(string(text), "mcphub") {
			t.Errorf("got %s, %v", text, err)
		}
		same(t, files(t, s.Dir), nil)
	}
}

// TestEqualFiles: two files of a client that hold the same bytes have a copy each.
func TestEqualFiles(t *testing.T) {
	t.Parallel()
	onLinux(t)
	c, e, paths := homeWith(t, "lm-studio", oneServer)
	want := map[string]string{}
	for _, path := range paths {
		want[path] = oneServer
	}
	if len(want) < 2 {
		t.Fatal("it has one file alone")
	}
	s := newStore(t, filepath.Join(t.TempDir(), "clients"))
	takeOver(t, c, e, s)
	if undone, err := s.Undo(c.Name); err != nil || len(undone) != 2 {
		t.Errorf("got %+v, %v", undone, err)
	}
	same(t, files(t, e.Home), want)
}

// Restore gives a file back that was edited so that nothing can be taken out of it.
func TestRestoreAfterEdits(t *testing.T) {
	t.Parallel()
	onLinux(t)
	c, e, path := cursorWith(t, oneServer)
	s := newStore(t, filepath.Join(t.TempDir(), "clients"))
	takeOver(t, c, e, s)
	if err := os.WriteFile(path, []byte("{ broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Undo(c.Name); err == nil || !strings.Contains(err.Error(), "mcphub uninstall cursor --restore") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Restore(c.Name); err != nil {
		t.Error(err)
	}
	same(t, files(t, e.Home), map[string]string{path: oneServer})
}

// Without the key nothing is changed or lost, and the error says what can be done.
func TestKeyIsGone(t *testing.T) {
	t.Parallel()
	onLinux(t)
	c, e, path := cursorWith(t, oneServer)
	s := newStore(t, filepath.Join(t.TempDir(), "clients"))
	takeOver(t, c, e, s)
	there, kept := files(t, e.Home), files(t, s.Dir)
	s.Cipher = newStore(t, "").Cipher
	record := s.recordPath(c.Name, path)
	for _, try := range []func(string) ([]UndoResult, error){s.Undo, s.Restore} {
		if _, err := try(c.Name); err == nil || !strings.Contains(err.Error(), `its key cannot be found: the secret "key" is not set`) || !strings.Contains(err.Error(), "remove "+record) {
			t.Errorf("got %v", err)
		}
	}
	if p, _, err := PlanInstall(c, e, Hub{Command: "/other"}); err != nil || s.Apply(p) == nil && p.HasChanges() {
		t.Errorf("a record that cannot be read was written anew: %v", err)
	}
	same(t, files(t, e.Home), there)
	same(t, files(t, s.Dir), kept)
	if known, err := s.Known(); err != nil || len(known) != 1 {
		t.Errorf("got %v, %v", known, err)
	}
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	if undone, err := s.Undo(c.Name); err != nil || len(undone) != 0 {
		t.Errorf("got %+v, %v", undone, err)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	onLinux(t)
	e := Env{OS: "linux", Home: t.TempDir(), Get: func(string) string { return "" }}
	c := Find("cursor")
	path := c.places(e)[0].File
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{}`)
	p, _, err := PlanInstall(c, e, testHub)
	if err != nil {
		t.Fatal(err)
	}
	write(`{"a": 1}`)
	s := newStore(t, t.TempDir())
	if err := s.Apply(p); err == nil || !strings.Contains(err.Error(), "in the meantime") {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != `{"a": 1}` {
		t.Errorf("got %s", data)
	}
	write(`{"mcpServers": `)
	if _, _, err := PlanInstall(c, e, testHub); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

// TestLinks: a file that is a link, as people keep theirs in a repository, stays one.
func TestLinks(t *testing.T) {
	t.Parallel()
	onLinux(t)
	e := Env{OS: "linux", Home: t.TempDir(), Get: func(string) string { return "" }}
	c := Find("codex")
	path := c.places(e)[0].File
	real := filepath.Join(e.Home, "dotfiles.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(real, []byte("a = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	s := newStore(t, t.TempDir())
	takeOver(t, c, e, s)
	if data, _ := os.ReadFile(real); !bytes.Contains(data, []byte("mcphub")) {
		t.Errorf("got %s", data)
	}
	if _, err := s.Undo("codex"); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(path); err != nil || to != real {
		t.Errorf("got %q, %v", to, err)
	}
	if data, _ := os.ReadFile(real); string(data) != "a = 1\n" {
		t.Errorf("got %s", data)
	}
}

// TestPreviewShowsNoSecret: of an entry that is replaced or taken out nothing but
// the name is shown.
func TestPreviewShowsNoSecret(t *testing.T) {
	t.Parallel()
	onLinux(t)
	for file, archive := range archives(t) {
		c := clientOf(t, file)
		e := home(t, archive)
		found, err := Read(c, e)
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := PlanInstall(c, e, testHub)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range found.Servers {
			if _, err := p.SwitchOff(s); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range p.Files {
			for _, line := range f.Diff() {
				for _, secret := range []string{"plain", "ghp_", "hf_", "k-123", "abc123456"} {
					if strings.Contains(line, secret) {
						t.Errorf("%s: %s", file, line)
					}
				}
			}
		}
	}
	data := []byte(`{"mcpServers": {"mcphub": {"command": "other", "env": {"TOKEN": "plain-secret"}}}}`)
	after, made, err := edit.Apply(edit.JSON, data, mcpServers, edit.Change{Kind: edit.Put, Name: HubName, Value: commandEntry(testHub)})
	if err != nil {
		t.Fatal(err)
	}
	f := FileEdit{Before: data, After: after, Changes: []Made{{mcpServers, made}}}
	if text := strings.Join(f.Diff(), "\n"); strings.Contains(text, "plain-secret") || !strings.Contains(text, "another entry") {
		t.Errorf("got %s", text)
	}
}
