package validate

import (
	"slices"
	"testing"

	"mcphub/e2e/rootstest"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/budget"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/machine"
)

// TestServersThatShareTheDisk: a server on this machine opens the files that the hub judges,
// whatever its URL calls this machine.
func TestServersThatShareTheDisk(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]declare.Mode{
		"http://localhost:1/mcp": declare.ModeStrict, "http://LOCALHOST./": declare.ModeStrict, "http://a.localhost/": declare.ModeStrict,
		"http://127.1:8080/mcp": declare.ModeStrict, "http://0x7f.1/": declare.ModeStrict, "http://[::1]:80/": declare.ModeStrict, "http://0.0.0.0/": declare.ModeStrict,
		"http://[::ffff:127.0.0.1]/": declare.ModeStrict, "http://host.docker.internal/": declare.ModeStrict, "unix:///run/x": declare.ModeStrict, "http:///x": declare.ModeStrict,
		"https://example.com/mcp": declare.ModeDeclared, "https://127.example.com/": declare.ModeDeclared, "https://localhost.example.com/": declare.ModeDeclared,
	} {
		c, err := NewChecker(Config{Home: "/home/me", Children: []ChildConfig{{Name: "x", URL: url}}})
		if err != nil {
			t.Fatal(err)
		}
		tool, err := c.Tool("x", "", []byte(`{"name":"t"}`))
		if err != nil || tool.Mode() != want {
			t.Errorf("%s: %v, want %v, %v", url, tool.Mode(), want, err)
		}
	}
}

// TestAboveADirectoryThatClimbs: the directory above /p/src/.. is that above /p, and not /p/src.
func TestAboveADirectoryThatClimbs(t *testing.T) {
	t.Parallel()
	m := machine.New(rootstest.NewFS(t, platform.Linux, []string{"/p/src/", "/p/x", "/x"}), "/home/me", nil, nil)
	for base, want := range map[string]string{"/p/src/..": "/x", "/p": "/x", "/p/src": "/p/x"} {
		j := &judge{Machine: &m, work: budget.New(0)}
		var got []string
		j.fromBelow(&detect.Finding{}, []string{base}, "../../x", func(s meaning) { got = append(got, s.path) })
		if !slices.Equal(got, []string{want}) {
			t.Errorf("above %s: %q, want %s", base, got, want)
		}
	}
}
