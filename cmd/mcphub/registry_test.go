package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/registry"
)

// registryServer returns a server that a registry's entry came to, with one secret.
func registryServer(t *testing.T) []clients.Inventory {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"server": {"name": "com.example/kid", "description": "A kid", "version": "1.0.0", "packages": [{"registryType": "npm", "identifier": "kid", "version": "1.0.0",
			"transport": {"type": "stdio"}, "environmentVariables": [{"name": "KID_TOKEN", "isRequired": true, "isSecret": true}]}]}}`)
	}))
	defer srv.Close()
	c, err := registry.New(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Latest(t.Context(), "com.example/kid")
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Install(registry.Options{Name: "kid"})
	if err != nil {
		t.Fatal(err)
	}
	return []clients.Inventory{{Servers: []clients.Server{{Name: "kid", Entry: in.Entry, From: "the registry", Notes: in.Notes}}, Inputs: in.Inputs}}
}

// TestAnswersOfARegistryServer: what its entry asks for is asked for once a person has agreed, kept as a secret,
// and stands nowhere else; without an answer it is added, and not tried.
func TestAnswersOfARegistryServer(t *testing.T) {
	for name, tc := range map[string]struct {
		answers, hub, said string
		kept               bool
	}{
		"no":       {answers: "n\n"},
		"answered": {answers: "y\nkey-1\n", hub: `"KID_TOKEN": "${input:kid/KID_TOKEN}"`, said: "kid: works", kept: true},
		"later":    {answers: "y\n\n", hub: `"KID_TOKEN": "${input:kid/KID_TOKEN}"`, said: "kid: not tried: "},
	} {
		t.Run(name, func(t *testing.T) {
			var kept bool
			home, said, err := dialogue(t, tc.answers, func(w *clientWork) error {
				path := filepath.Join(w.env.Home, ".config", "mcphub", "hub.json")
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					return err
				}
				if err := os.WriteFile(path, []byte(`{"secrets": {"store": "file"}, "mcpServers": {}}`), 0o600); err != nil {
					return err
				}
				err := w.importAll(registryServer(t), true)
				value, _ := w.secrets.Get(t.Context(), "kid/KID_TOKEN") // none is kept then
				kept = value == "key-1"
				return err
			})
			if err != nil {
				t.Fatal(err, said)
			}
			hub := fileText(t, home, ".config/mcphub/hub.json")
			if strings.Contains(hub, "key-1") || strings.Contains(hub, `"kid"`) != (tc.hub != "") || !strings.Contains(hub, tc.hub) {
				t.Errorf("got %s", hub)
			}
			if kept != tc.kept || !strings.Contains(said, tc.said) || strings.Contains(said, "key-1") {
				t.Errorf("kept %v\n%s", kept, said)
			}
			if shown := strings.Index(said, "kid@1.0.0"); shown < 0 || shown > strings.Index(said, "Add 1 server") {
				t.Errorf("it is asked about before it is shown:\n%s", said)
			}
		})
	}
}
