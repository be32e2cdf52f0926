package setup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/trusttest"
	"mcphub/internal/trust"
)

// The TLS of an entry holds for its server and for the login there. Paths start at the folder of hub.json, and errors name its lines.
func TestTLSOfAnEntry(t *testing.T) {
	const pin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	t.Parallel()
	f := file(t, `{"mcpServers":{"a":{"url": "https://mcp.example.com/mcp", "tls": {
		"ca": "ca.pem",
		"cert": "~/cert.pem",
		"key": "/run/key.pem",
		"pin": "`+pin+`"
	}}}}`)
	got := tlsSettings(f, &f.Servers[0], "/home/me")
	want := trust.Settings{
		CA: trust.File{Path: filepath.Join(f.Dir(), "ca.pem")}, Cert: trust.File{Path: "/home/me/cert.pem"}, Key: trust.File{Path: "/run/key.pem"}, Pins: []string{pin},
	}
	if !got.Equal(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for line, at := range map[string]string{":2": got.CA.At, ":3": got.Cert.At, ":4": got.Key.At, ":5": got.PinsAt} {
		if !strings.HasSuffix(at, line) {
			t.Errorf("%q is line %s", at, line)
		}
	}
	if !slices.Contains(secretFiles(f, "/home/me"), "/run/key.pem") {
		t.Error("calls may touch the key")
	}
}

// What is wrong with the files of an entry is found without a connection, and told with the line and the file.
func TestTLSFilesAreChecked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	house := trusttest.New(t)
	cert, key := house.Files(dir, house.Issue("one"))
	bad := filepath.Join(dir, "bad.pem")
	if err := errors.Join(os.WriteFile(bad, []byte("x"), 0o600), os.Chmod(key, 0o666)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "hub.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers":{
		"bad": {"url": "https://mcp.example.com/mcp", "tls": {"ca": "bad.pem"}},
		"open": {"url": "https://mcp.example.com/mcp", "tls": {"cert": "`+filepath.Base(cert)+`", "key": "`+filepath.Base(key)+`"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Source{Config: path}
	c, err := s.Check(os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range c.Problems {
		all = append(all, p.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{path + ":2:", "mcpServers.bad.tls.ca: " + bad + ": it holds no certificate in PEM", path + ":3:", "mcpServers.open.tls.key: " + key + " holds a private key"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if !c.Bad["bad"] || c.Bad["open"] {
		t.Errorf("bad are %v", c.Bad)
	}
}
