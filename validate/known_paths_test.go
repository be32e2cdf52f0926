package validate

import (
	"slices"
	"testing"

	"mcphub/rootsmgr/platform"
	"mcphub/rootsmgr/rootstest"
	"mcphub/validate/budget"
	"mcphub/validate/machine"
)

// TestServersThatShareTheDisk: a server on this machine opens the files that the hub judges,
// whatever its URL calls this machine.
func TestServersThatShareTheDisk(t *testing.T) {
	for url, want := range map[string]Mode{
		"http://localhost:1/mcp": ModeStrict, "http://LOCALHOST./": ModeStrict, "http://a.localhost/": ModeStrict,
		"http://127.1:8080/mcp": ModeStrict, "http://0x7f.1/": ModeStrict, "http://[::1]:80/": ModeStrict, "http://0.0.0.0/": ModeStrict,
		"http://[::ffff:127.0.0.1]/": ModeStrict, "http://host.docker.internal/": ModeStrict, "unix:///run/x": ModeStrict, "http:///x": ModeStrict,
		"https://example.com/mcp": ModeDeclared, "https://127.example.com/": ModeDeclared, "https://localhost.example.com/": ModeDeclared,
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
	m := machine.New(rootstest.NewFS(t, platform.Linux, []string{"/p/src/", "/p/x", "/x"}), "/home/me", nil, nil)
	for base, want := range map[string]string{"/p/src/..": "/x", "/p": "/x", "/p/src": "/p/x"} {
		j := &judge{m: &m, work: budget.New(0)}
		var got []string
		j.fromBelow(&Finding{}, []string{base}, "../../x", func(s meaning) { got = append(got, s.path) })
		if !slices.Equal(got, []string{want}) {
			t.Errorf("above %s: %q, want %s", base, got, want)
		}
	}
}
