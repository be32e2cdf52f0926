package clients

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/cmd/mcphub/internal/config"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata")

// home unpacks an archive into a scratch home. The first line of its comment may
// ask for CRLF or a byte order mark.
func home(t testing.TB, archive *txtar.Archive) Env {
	t.Helper()
	dir := t.TempDir()
	first, _, _ := strings.Cut(string(archive.Comment), "\n")
	for _, f := range archive.Files {
		if f.Name == "golden.json" {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		data := f.Data
		if first == "crlf" {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		}
		if first == "bom" {
			data = append([]byte("\xef\xbb\xbf"), data...)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Env{OS: "linux", Home: dir, Get: func(string) string { return "" }}
}

func archives(t testing.TB) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob("testdata/read/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no archives")
	}
	out := map[string]*txtar.Archive{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[file] = a
	}
	return out
}

// clientOf returns the client that an archive is about.
func clientOf(t testing.TB, file string) *Profile {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(file), ".txtar")
	c := Find(name)
	if c == nil {
		c = Find(name[:strings.LastIndexByte(name, '-')])
	}
	if c == nil {
		t.Fatalf("there is no client for %s", file)
	}
	return c
}

// TestRead compares what is read of each client with the golden part of its
// archive, and has hub.json's own reader take it.
func TestRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the places are those of Linux")
	}
	for file, archive := range archives(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c := clientOf(t, file)
			e := home(t, archive)
			if !c.IsInstalled(e) {
				t.Error("the client is not seen")
			}
			found, err := Read(c, e)
			if err != nil {
				t.Fatal(err)
			}
			got := bytes.ReplaceAll(golden(t, found), []byte(e.Home), []byte("HOME"))
			files := archive.Files[:0:0]
			want := []byte{}
			for _, f := range archive.Files {
				if f.Name == "golden.json" {
					want = f.Data
				} else {
					files = append(files, f)
				}
			}
			if *update {
				archive.Files = append(files, txtar.File{Name: "golden.json", Data: got})
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("run with -update to accept it:\n%s", diff)
			}
			isHubJSON(t, found)
		})
	}
}

func golden(t testing.TB, found Inventory) []byte {
	t.Helper()
	type server struct {
		Name     string
		Disabled bool `json:",omitempty"`
		Entry    edit.Table
		Held     []HubKey `json:",omitempty"`
		Notes    []string `json:",omitempty"`
	}
	out := struct {
		Servers    []server
		Skipped    []string     `json:",omitempty"`
		Registered string       `json:",omitempty"`
		Inputs     []edit.Table `json:",omitempty"`
	}{Registered: found.Registered, Inputs: found.Inputs}
	for _, s := range found.Servers {
		out.Servers = append(out.Servers, server{s.Name, s.Disabled, s.Entry, s.Held, s.Notes})
	}
	for _, s := range found.Skipped {
		out.Skipped = append(out.Skipped, s.Name+": "+s.Why)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// isHubJSON holds that hub.json's reader has nothing against the entries but
// variables that are not set.
func isHubJSON(t *testing.T, found Inventory) {
	t.Helper()
	text, imports, err := Merge(Target{File: "hub.json", Text: nil, Env: func(string) (string, bool) { return "set", true }}, found.Servers, found.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, im := range imports {
		if im.Err != "" && im.Err != "its envFile is left out" && !strings.Contains(im.Err, "${input:") && !strings.Contains(im.Err, "${file:") {
			t.Errorf("%s: %s", im.Name, im.Err)
		}
	}
	_, problems, err := config.Parse("hub.json", text, func(string) (string, bool) { return "set", true })
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Severity != config.SeverityNote && !strings.Contains(p.Text, "${input:") && !strings.Contains(p.Text, "${file:") && !strings.HasSuffix(p.Key, ".envFile") && !strings.HasSuffix(p.Key, ".auth") {
			t.Error(p.String())
		}
	}
}
