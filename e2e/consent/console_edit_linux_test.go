package consent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/e2e/world"
)

// evilText is what a registry may say about a server.
const evilText = `<img src=x onerror=alert(1)>"><script>alert(1)</script>`

// aRegistry returns a registry on loopback that has one server, of this version. Nothing can be fetched for it: no one answers at port 9.
func aRegistry(t *testing.T, version *atomic.Value) *httptest.Server {
	entry := func() obj {
		return obj{"server": obj{"name": "io.github.test/weather", "description": "Weather " + evilText, "version": version.Load(), "packages": []obj{{
			"registryType": "oci", "identifier": "127.0.0.1:9/weather-server", "version": version.Load(), "transport": obj{"type": "stdio"},
			"environmentVariables": []obj{{"name": "UNITS", "value": "metric"}},
		}}}}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var out any = obj{"servers": []obj{entry()}, "metadata": obj{"count": 1}}
		if strings.HasSuffix(r.URL.Path, "/latest") {
			out = entry()
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// editable returns a hub with a client, and a console of it at a terminal.
func editable(t *testing.T) (w *world.World, config string, env []string, version *atomic.Value) {
	w = world.New(t)
	version = &atomic.Value{}
	version.Store("1.2.3")
	config = w.Config(obj{"rec": w.Recorder("rec"), "files": obj{"builtin": "files"}, "broken": obj{"command": "no-such-program-at-all"}}, obj{"roots": obj{"fallback": []string{w.Project}}})
	text, err := os.ReadFile(config)
	world.Must(t, err)
	world.Must(t, os.WriteFile(config, append([]byte("// mine\n"), text...), 0o600))
	given := &http.Client{Transport: world.Given{Transport: &http.Transport{}}}
	client, err := gosdk.NewClient(&gosdk.Implementation{Name: "go-sdk", Version: "1"}, &gosdk.ClientOptions{Capabilities: &gosdk.ClientCapabilities{}}).Connect(t.Context(),
		&gosdk.StreamableClientTransport{Endpoint: w.ServeHTTP(config), HTTPClient: given}, &gosdk.ClientSessionOptions{})
	world.Must(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		given.CloseIdleConnections()
	})
	if _, err := client.CallTool(t.Context(), &gosdk.CallToolParams{Name: "files__read_text_file", Arguments: obj{"path": "/etc/passwd"}}); err != nil {
		t.Fatal(err)
	}
	if !world.Within(world.WaitLimit, func() bool {
		list, err := client.ListTools(t.Context(), nil)
		world.Must(t, err)
		found := 0
		for _, tool := range list.Tools {
			if tool.Name == "rec__whoami" || tool.Name == "files__read_text_file" {
				found++
			}
		}
		return found == 2
	}) {
		t.Fatal("the tools are not listed")
	}
	return w, config, w.Env("MCPHUB_REGISTRY=" + aRegistry(t, version).URL), version
}

// TestConsoleEditedByKeyboard: in a browser, by keyboard alone and 390 pixels wide, a person adds a server from a registry, from a command line
// and from an entry, switches a server and a tool, and searches.
func TestConsoleEditedByKeyboard(t *testing.T) {
	t.Parallel()
	world.RequireNode(t)
	browser := world.RequireChromium(t)
	w, config, env, _ := editable(t)
	p, code := consoleAtTerminal(w, config, env)
	w.InBrowser("console_edit.mjs", browser, p.address, code, config, world.Hub(t), filepath.Join(world.NPM.Modules, "axe-core", "axe.min.js"))
}

// TestWhatIsAddedIsWhatWasShown: a registry that answers otherwise once its entry was shown, a file that changes meanwhile, and a start of what
// no one was shown. Controls: the same clicks without that.
func TestWhatIsAddedIsWhatWasShown(t *testing.T) {
	t.Parallel()
	w, config, env, version := editable(t)
	p := openPage(w, config, env)
	now := func() string {
		text, err := os.ReadFile(config)
		world.Must(t, err)
		return string(text)
	}
	form := func(digest string, more ...string) url.Values {
		f := url.Values{"do": {"add"}, "from": {"registry"}, "text": {"io.github.test/weather"}, "digest": {digest}}
		for i := 0; i < len(more); i += 2 {
			f.Set(more[i], more[i+1])
		}
		return f
	}
	// The page counts tokens as mcphub tools does.
	var offered struct {
		Servers []struct {
			Tools  []any
			Tokens int
		}
	}
	tools := exec.Command(world.Hub(t), "tools", "rec", "--json", "--config", config)
	tools.Env, tools.Dir = env, w.Project
	raw, err := tools.Output()
	world.Must(t, err)
	world.Must(t, json.Unmarshal(raw, &offered))
	if want := fmt.Sprintf("<span>%d tools, about %d tokens</span>", len(offered.Servers[0].Tools), offered.Servers[0].Tokens); offered.Servers[0].Tokens == 0 || !strings.Contains(p.asks("/servers", url.Values{}), want) {
		t.Errorf("the page does not show %s", want)
	}
	before := now()
	digestOf := func(f url.Values) string {
		t.Helper()
		shown := p.asks("/change", f)
		digest := field(shown, "digest")
		if digest == "" || now() != before {
			t.Fatalf("nothing is shown, or it is written:\n%s", shown)
		}
		return digest
	}
	refused := func(what, said string) {
		t.Helper()
		if !strings.Contains(said, "that is not what was shown") || now() != before {
			t.Errorf("%s: %s", what, said)
		}
	}
	digest := digestOf(form(""))
	version.Store("6.6.6")
	refused("another version", p.asks("/write", form(digest)))
	refused("a start of another version", p.asks("/try", form(digest)))
	version.Store("1.2.3")
	refused("a start of what was not shown", p.asks("/try", form("")))
	refused("another name", p.asks("/write", form(digest, "server", "files2")))
	refused("a value beside", p.asks("/write", form(digest, "from", "command", "server", "x", "text", "sh -c evil")))
	world.Must(t, os.WriteFile(config, []byte(before+"\n"), 0o600))
	before += "\n"
	refused("a file that has changed", p.asks("/write", form(digest)))
	whole := p.session
	p.session, _, _ = strings.Cut(whole, ".")
	digest = ""
	for _, path := range []string{"/change", "/try", "/write"} {
		if said := p.asks(path, form("")); !strings.Contains(said, "hub.json is not changed: this page was loaded again") || now() != before {
			t.Errorf("%s of a page that was loaded again: %s", path, said)
		}
	}
	p.session = whole
	digest = digestOf(form(""))
	if said := p.asks("/write", form(digest)); !strings.Contains(said, "Written.") || !strings.Contains(now(), "weather-server:1.2.3") || !strings.HasPrefix(now(), "// mine\n") {
		t.Errorf("the control: %s\n%s", said, now())
	}
}
