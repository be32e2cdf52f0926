package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/internal/printable"
)

// serve returns a registry on loopback that answers every question by handler.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	c, err := New(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// one returns a registry with one server, of this server.json.
func one(t *testing.T, entry string) *Client {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		var s struct{ Name string }
		_ = json.Unmarshal([]byte(entry), &s) // an invalid one may have none
		if want := "/v0.1/servers/" + strings.ReplaceAll(s.Name, "/", "%2F") + "/versions/latest"; s.Name != "" && r.URL.EscapedPath() != want {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"server": %s, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active", "isLatest": true}}}`, entry)
	})
}

// install asks a registry for an entry and makes one of hub.json of it.
func install(t *testing.T, entry string, o Options) (*Install, error) {
	t.Helper()
	var s struct{ Name string }
	if err := json.Unmarshal([]byte(entry), &s); err != nil {
		t.Fatal(err)
	}
	got, err := one(t, entry).Latest(t.Context(), s.Name)
	if err != nil {
		return nil, err
	}
	o.Name = "it"
	return got.Install(o)
}

// inHub is hub.json with an install in it, as config reads it.
func inHub(t *testing.T, in *Install) *config.Server {
	t.Helper()
	text, err := clients.AddToHub("hub.json", nil, "it", in.Entry)
	if err != nil {
		t.Fatal(err)
	}
	f, problems, err := config.Parse("hub.json", text, func(string) (string, bool) { return "EXPANDED", true })
	if err != nil || f.Server("it") == nil || f.Server("it").Err != nil {
		t.Fatalf("%v %v\n%s", err, problems, text)
	}
	return f.Server("it")
}

func oneLine(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// TestValid: what the examples of server.json come to, word for word.
func TestValid(t *testing.T) {
	t.Parallel()
	abs, err := filepath.Abs("dir")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		file, entry, inputs, refused string
		o                            Options
	}{
		{file: "minimal", refused: "neither what to run nor where it is"},
		{file: "nuget", refused: `"nuget" are not supported`},
		{file: "bundle", refused: `"mcpb" are not supported`},
		{file: "npm-secret", entry: `{"command":"npx","args":["-y","@example/server-search@1.0.2"],"env":{"SEARCH_API_KEY":"${input:it/SEARCH_API_KEY}"}}`,
			inputs: `[{"id":"it/SEARCH_API_KEY","type":"promptString","description":"Key of the search","password":true}]`},
		{file: "npm-secret", o: Options{Taken: func(id string) bool { return id == "it/SEARCH_API_KEY" }},
			entry:  `{"command":"npx","args":["-y","@example/server-search@1.0.2"],"env":{"SEARCH_API_KEY":"${input:it/SEARCH_API_KEY-2}"}}`,
			inputs: `[{"id":"it/SEARCH_API_KEY-2","type":"promptString","description":"Key of the search","password":true}]`},
		{file: "npm-secret", o: Options{Set: map[string]string{"SEARCH_API_KEY": "x"}}, refused: "is a secret"},
		{file: "npm-secret", o: Options{Set: map[string]string{"OTHER": "x"}}, refused: `asks for nothing that is called "OTHER"`},
		{file: "pypi-default", entry: `{"command":"uvx","args":["weather-mcp-server==0.5.0"],"env":{"WEATHER_API_KEY":"${input:it/WEATHER_API_KEY}","WEATHER_UNITS":"celsius"}}`,
			inputs: `[{"id":"it/WEATHER_API_KEY","type":"promptString","password":true}]`},
		{file: "pypi-default", o: Options{Set: map[string]string{"WEATHER_UNITS": "kelvin"}}, refused: "is none of its values"},
		{file: "arguments", entry: `{"command":"npx","args":["-y","@example/hybrid@1.5.0","start","--mode=local","-p","80","--host=eu.example.com"]}`},
		{file: "arguments", o: Options{Set: map[string]string{"--mode": "proxy", "-p": "8", "region": "us", "--quiet": ""}},
			entry: `{"command":"npx","args":["-y","@example/hybrid@1.5.0","start","--mode=proxy","-p","8","--host=us.example.com","--quiet"]}`},
		{file: "arguments", o: Options{Set: map[string]string{"-p": "eighty"}, Way: NPM}, refused: "want a number"},
		{file: "arguments", o: Options{Way: Remote}, entry: `{"url":"https://mcp.example.com/http"}`},
		{file: "arguments", o: Options{Way: OCI}, refused: `it has: "npm", "remote"`},
		{file: "image", refused: "--set source_path=DIR"},
		{file: "image", o: Options{Set: map[string]string{"source_path": "dir"}},
			entry:  `{"command":"docker","args":["run","-i","--rm","--mount","type=bind,src=` + abs + `,dst=/project","-e","DB_PASSWORD","-e","DB_TYPE","docker.io/example/database:3.1.0","/project"],"env":{"DB_PASSWORD":"${input:it/DB_PASSWORD}","DB_TYPE":"mysql"}}`,
			inputs: `[{"id":"it/DB_PASSWORD","type":"promptString","password":true}]`},
		{file: "remote", entry: `{"url":"https://eu1.example.com/mcp","headers":{"X-Region":"us","Authorization":"Bearer ${input:it/token}"}}`,
			inputs: `[{"id":"it/token","type":"promptString","password":true}]`},
		{file: "remote", o: Options{Ask: []string{"tenant"}}, refused: "which host is spoken to has to be written"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			if runtime.GOOS == "windows" && tc.o.Set["source_path"] != "" {
				t.Skip("a path of Windows has a colon, which docker reads")
			}
			text, err := os.ReadFile(filepath.Join("testdata", "valid", tc.file+".json"))
			if err != nil {
				t.Fatal(err)
			}
			in, err := install(t, string(text), tc.o)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("want %q, got %v", tc.refused, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := oneLine(t, in.Entry); got != tc.entry {
				t.Errorf("got  %s\nwant %s", got, tc.entry)
			}
			if got := oneLine(t, in.Inputs); got != tc.inputs && !(tc.inputs == "" && got == "null") {
				t.Errorf("got  %s\nwant %s", got, tc.inputs)
			}
			inHub(t, in)
		})
	}
}

// TestInvalid: what server.json forbids is refused, with a reason; each file is the control of the rule in TestValid.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"name-pattern": "is no name of a server", "name-missing": "it has no name", "description-long": "longer than 100", "description-missing": "no description",
		"version-range": "is no version", "package-latest": `"latest" is no version`, "positional-empty": "neither a value nor a valueHint",
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "invalid", file+".json"))
			if err != nil {
				t.Fatal(err)
			}
			s, err := readServer([]byte(`{"server": ` + string(text) + `}`))
			if err == nil {
				_, err = s.Install(Options{Name: "it"})
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		})
	}
}

// entryOf returns a server with one package; the control of the tables of attacks.
func entryOf(pkg string) string {
	return `{"name": "com.example/it", "description": "x", "version": "1.0.0", "packages": [` + pkg + `]}`
}

func npm(more string) string {
	return `{"registryType": "npm", "identifier": "honest", "version": "1.0.0", "transport": {"type": "stdio"}` + more + `}`
}

func oci(more string) string {
	return `{"registryType": "oci", "identifier": "ghcr.io/e/honest:1.0.0", "transport": {"type": "stdio"}` + more + `}`
}

// TestHostileEntries: each entry is taken as it is, and refused once one honest text in it is
// replaced by a hostile one.
func TestHostileEntries(t *testing.T) {
	t.Parallel()
	arg := func(value string) string {
		return npm(`, "packageArguments": [{"type": "positional", "value": "` + value + `"}]`)
	}
	env := func(name, more string) string {
		return npm(`, "environmentVariables": [{"name": "` + name + `"` + more + `}]`)
	}
	remote := func(url string) string {
		return `{"name": "com.example/it", "description": "x", "version": "1.0.0", "remotes": [{"type": "streamable-http", "url": "` + url + `"}]}`
	}
	header := func(name, value string) string {
		return `{"name": "com.example/it", "description": "x", "version": "1.0.0", "remotes": [{"type": "sse", "url": "https://a.example", "headers": [{"name": "` + name + `", "value": "` + value + `"}]}]}`
	}
	for _, tc := range []struct{ name, entry, honest, hostile string }{
		{"option", entryOf(npm("")), "honest", "--registry=http://x"},
		{"short option", entryOf(npm("")), "honest", "-c"},
		{"address", entryOf(npm("")), "honest", "https://evil.example/x.tgz"},
		{"git", entryOf(npm("")), "honest", "github:evil/x"},
		{"path", entryOf(npm("")), "honest", "../../evil"},
		{"path in scope", entryOf(npm("")), "honest", "@../x"},
		{"absolute", entryOf(npm("")), "honest", "/tmp/evil"},
		{"shell", entryOf(npm("")), "honest", "x;id"},
		{"substitution", entryOf(npm("")), "honest", "$(id)"},
		{"spaces", entryOf(npm("")), "honest", "x y"},
		{"version in name", entryOf(npm("")), "honest", "x@latest"},
		{"variable in name", entryOf(npm("")), "honest", "${HOME}"},
		{"newline in name", entryOf(npm("")), "honest", `x\ny`},
		{"empty name", entryOf(npm("")), "honest", ""},
		{"version tag", entryOf(npm("")), `"version": "1.0.0", "transport"`, `"version": "beta", "transport"`},
		{"version range", entryOf(npm("")), `"version": "1.0.0", "transport"`, `"version": "^1.0.0", "transport"`},
		{"version alias", entryOf(npm("")), `"version": "1.0.0", "transport"`, `"version": "npm:evil@1.0.0", "transport"`},
		{"version address", entryOf(npm("")), `"version": "1.0.0", "transport"`, `"version": "https://x", "transport"`},
		{"no version", entryOf(npm("")), `"version": "1.0.0", "transport"`, `"transport"`},
		{"other source", entryOf(npm(`, "registryBaseUrl": "https://registry.npmjs.org"`)), "https://registry.npmjs.org", "https://evil.example"},
		{"other runtime", entryOf(npm(`, "runtimeHint": "npx"`)), "npx", "sh"},
		{"digest", entryOf(npm(`, "fileSha256": ""`)), `"fileSha256": ""`, `"fileSha256": "00"`},
		{"launcher option", entryOf(npm(`, "runtimeArguments": [{"type": "named", "name": "-y"}]`)), `"-y"`, `"-c"`},
		{"launcher package", entryOf(npm(`, "runtimeArguments": [{"type": "named", "name": "-y"}]`)), `"-y"`, `"--package"`},
		{"kind", entryOf(npm("")), "npm", "cargo"},
		{"kind empty", entryOf(npm("")), "npm", ""},
		{"transport", entryOf(npm("")), "stdio", "streamable-http"},
		{"variable in value", entryOf(arg("a")), `"a"`, `"${HOME}"`},
		{"secret in value", entryOf(arg("a")), `"a"`, `"${keyring:github}"`},
		{"file in value", entryOf(arg("a")), `"a"`, `"x${file:~/.ssh/id_ed25519}"`},
		{"escaped reference", entryOf(arg("a")), `"a"`, `"$${keyring:x}"`},
		{"root in value", entryOf(arg("a")), `"a"`, `"${root}"`},
		{"reference of two parts", entryOf(npm(`, "packageArguments": [{"type": "positional", "value": "{a}{b}", "variables": {"a": {"default": "a"}, "b": {"default": "{HOME}"}}}]`)), `"default": "a"`, `"default": "$"`},
		{"mark", entryOf(arg("a")), `"a"`, `"\u0000keyring:github\u0000"`},
		{"bidi", entryOf(arg("a")), `"a"`, `"a\u202eb"`},
		{"escape sequence", entryOf(arg("a")), `"a"`, `"a\u001b[2K"`},
		{"tag characters", entryOf(arg("a")), `"a"`, `"a\udb40\udc41"`},
		{"newline", entryOf(arg("a")), `"a"`, `"a\nb"`},
		{"too long", entryOf(arg("a")), `"a"`, `"` + strings.Repeat("a", maxText+1) + `"`},
		{"path in value", entryOf(arg("a")), `"a"`, `"/home"`},
		{"home in value", entryOf(arg("a")), `"a"`, `"~/.ssh"`},
		{"path behind =", entryOf(arg("a")), `"a"`, `"--dir=/home"`},
		{"path in list", entryOf(arg("a")), `"a"`, `"x:/home"`},
		{"upward path", entryOf(arg("a")), `"a"`, `"a/../../b"`},
		{"drive", entryOf(arg("a")), `"a"`, `"C:\\Users"`},
		{"file address", entryOf(arg("a")), `"a"`, `"file:///etc"`},
		{"argument name", entryOf(npm(`, "packageArguments": [{"type": "named", "name": "--a", "value": "a"}]`)), `"--a"`, `"--a=/home --b"`},
		{"argument kind", entryOf(arg("a")), `"positional"`, `"shell"`},
		{"loader", entryOf(env("A", `, "value": "a"`)), `"A"`, `"LD_PRELOAD"`},
		{"options of node", entryOf(env("A", `, "value": "a"`)), `"A"`, `"NODE_OPTIONS"`},
		{"source of npm", entryOf(env("A", `, "value": "a"`)), `"A"`, `"npm_config_registry"`},
		{"source of uv", entryOf(env("A", `, "value": "a"`)), `"A"`, `"UV_INDEX_URL"`},
		{"search path", entryOf(env("A", `, "value": "a"`)), `"A"`, `"PATH"`},
		{"variable name", entryOf(env("A", `, "value": "a"`)), `"A"`, `"A=B"`},
		{"choice", entryOf(env("A", `, "default": "a", "choices": ["a"]`)), `"default": "a"`, `"default": "b"`},
		{"format", entryOf(env("A", `, "default": "1", "format": "number"`)), `"default": "1"`, `"default": "one"`},
		{"pypi option", entryOf(strings.ReplaceAll(npm(""), "npm", "pypi")), "honest", "--from=evil"},
		{"pypi address", entryOf(strings.ReplaceAll(npm(""), "npm", "pypi")), "honest", "git+https://evil.example/x"},
		{"pypi extra", entryOf(strings.ReplaceAll(npm(""), "npm", "pypi")), "honest", "x[evil]"},
		{"pypi version", entryOf(strings.ReplaceAll(npm(""), "npm", "pypi")), `"version": "1.0.0", "transport"`, `"version": "1.0.0,>2", "transport"`},
		{"image option", entryOf(oci("")), "ghcr.io/e/honest:1.0.0", "--privileged"},
		{"image without tag", entryOf(oci("")), "honest:1.0.0", "honest"},
		{"image latest", entryOf(oci("")), "honest:1.0.0", "honest:latest"},
		{"privileged", entryOf(oci(`, "runtimeArguments": [{"type": "named", "name": "--rm"}]`)), "--rm", "--privileged"},
		{"host network", entryOf(oci(`, "runtimeArguments": [{"type": "named", "name": "-w", "value": "host"}]`)), "-w", "--network"},
		{"socket", entryOf(oci(`, "runtimeArguments": [{"type": "named", "name": "-w", "value": "/a"}]`)), `"-w", "value": "/a"`, `"-v", "value": "/var/run/docker.sock:/s"`},
		{"entry point", entryOf(oci(`, "runtimeArguments": [{"type": "named", "name": "-w", "value": "/a"}]`)), "-w", "--entrypoint"},
		{"docker host", entryOf(oci(`, "runtimeArguments": [{"type": "named", "name": "-e", "value": "A=a"}]`)), "A=a", "DOCKER_HOST=tcp://evil.example"},
		{"plain http", remote("https://a.example"), "https://a.example", "http://a.example"},
		{"user", remote("https://a.example"), "https://a.example", "https://u:p@a.example"},
		{"scheme", remote("https://a.example"), "https://a.example", "file:///etc/passwd"},
		{"secret in address", remote("https://a.example"), "https://a.example", "https://a.example/${keyring:x}"},
		{"open template", remote("https://a.example"), "https://a.example", "https://a.example/{x}"},
		{"kind of remote", remote("https://a.example"), "streamable-http", "websocket"},
		{"header of connection", header("X-A", "a"), "X-A", "Host"},
		{"header name", header("X-A", "a"), "X-A", `X-A\r\nX-B`},
		{"header value", header("X-A", "a"), `"a"`, `"a\r\nX-B: b"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, err := install(t, tc.entry, Options{})
			if err != nil {
				t.Fatalf("the control is refused: %v", err)
			}
			if len(inHub(t, in).References()) > 0 {
				t.Errorf("the control refers to a secret: %s", oneLine(t, in.Entry))
			}
			entry := strings.Replace(tc.entry, tc.honest, tc.hostile, 1)
			if entry == tc.entry {
				t.Fatal("nothing was replaced")
			}
			in, err = install(t, entry, Options{})
			if err == nil {
				t.Fatalf("it is taken: %s", oneLine(t, in.Entry))
			}
			if text := err.Error(); strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), printable.Hidden) {
				t.Errorf("the error holds what is not seen: %q", text)
			}
		})
	}
}

// TestMounts: a container gets a directory that a person named, and no other.
func TestMounts(t *testing.T) {
	t.Parallel()
	entry := func(value, vars string) string {
		return entryOf(oci(`, "runtimeArguments": [{"type": "positional", "value": "-v"}, {"type": "positional", "value": "` + value + `", "variables": {"d": {"isRequired": true}` + vars + `}}]`))
	}
	set := Options{Set: map[string]string{"d": "/srv/data"}}
	if in, err := install(t, entry("{d}:/data", ""), set); err != nil || !strings.Contains(oneLine(t, in.Entry), `"-v","/srv/data:/data"`) {
		t.Fatalf("the control: %v", err)
	}
	for name, tc := range map[string]struct {
		entry string
		o     Options
	}{
		"nothing named":   {entry("{d}:/data", ""), Options{}},
		"proposed":        {strings.Replace(entry("{d}:/data", ""), `"isRequired": true}`, `"isRequired": true, "default": "/"}`, 1), Options{}},
		"fixed":           {entry("/:/data", ""), Options{}},
		"above":           {entry("{d}/..:/data", ""), set},
		"second source":   {entry("type=bind,src={d},src=/,dst=/data", ""), set},
		"second by value": {strings.ReplaceAll(entry("type=bind,src={d},dst={t}", `, "t": {"default": "/data,src=/"}`), `"-v"`, `"--mount"`), set},
		"two in one":      {entry("{d}:/data", ""), Options{Set: map[string]string{"d": "/:/x"}}},
	} {
		if in, err := install(t, tc.entry, tc.o); err == nil {
			t.Errorf("%s: it is taken: %s", name, oneLine(t, in.Entry))
		}
	}
}

// TestPathsAreRepeated: a path that an entry names is taken if a person says it too.
func TestPathsAreRepeated(t *testing.T) {
	t.Parallel()
	fixed := entryOf(npm(`, "packageArguments": [{"type": "positional", "valueHint": "dir", "value": "/srv"}]`))
	if in, err := install(t, fixed, Options{Set: map[string]string{"dir": "/srv"}}); err != nil || !strings.Contains(oneLine(t, in.Entry), `"/srv"`) {
		t.Errorf("repeated: %v", err)
	}
	proposed := entryOf(npm(`, "packageArguments": [{"type": "named", "name": "--dir", "default": "/srv"}]`))
	in, err := install(t, proposed, Options{})
	if err != nil || strings.Contains(oneLine(t, in.Entry), "/srv") || !strings.Contains(strings.Join(in.Notes, "\n"), "--set --dir=/srv") {
		t.Errorf("proposed: %v %+v", err, in)
	}
	if in, err = install(t, proposed, Options{Set: map[string]string{"--dir": "/srv"}}); err != nil || !strings.Contains(oneLine(t, in.Entry), `"--dir=/srv"`) {
		t.Errorf("said: %v", err)
	}
}

// TestHostileRegistry: what a registry may not do, each beside the same registry that does not.
func TestHostileRegistry(t *testing.T) {
	t.Parallel()
	entry := func(name string) string {
		return `{"server": {"name": "` + name + `", "description": "x", "version": "1.0.0"}}`
	}
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		fmt.Fprint(w, entry("com.example/it"))
	}))
	defer other.Close()
	for name, tc := range map[string]struct {
		hostile, honest http.HandlerFunc
		want            string
	}{
		"another name": {
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, entry("com.example/evil")) },
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, entry("com.example/it")) }, `it answers with "com.example/evil"`},
		"huge": {
			func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, strings.Repeat(" ", maxEntry)+entry("com.example/it"))
			},
			func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, strings.Repeat(" ", maxEntry/2)+entry("com.example/it"))
			}, "larger than 1 MiB"},
		"redirect": {
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) },
			func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/moved" {
					http.Redirect(w, r, "/moved", http.StatusFound)
					return
				}
				fmt.Fprint(w, entry("com.example/it"))
			}, "which was not asked"},
		"deleted": {
			func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, strings.TrimSuffix(entry("com.example/it"), "}")+`, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}}}`)
			},
			func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, strings.TrimSuffix(entry("com.example/it"), "}")+`, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deprecated"}}}`)
			}, "was deleted"},
		"not JSON": {
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, entry("com.example/it")) }, "not what a registry answers"},
		"error": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, entry("com.example/it")) }, "status 502"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := serve(t, tc.honest).Latest(t.Context(), "com.example/it"); err != nil {
				t.Errorf("the control: %v", err)
			}
			if _, err := serve(t, tc.hostile).Latest(t.Context(), "com.example/it"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
	if elsewhere.Load() > 0 {
		t.Error("another host was asked")
	}
	if _, err := serve(t, http.NotFound).Latest(t.Context(), "com.example/it"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := serve(t, http.NotFound).Latest(t.Context(), "../x/y"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestASlowRegistryIsLeft: one that never ends its answer is given up.
func TestASlowRegistryIsLeft(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, " ")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	c.time = 50 * time.Millisecond
	if _, err := c.Latest(t.Context(), "com.example/it"); err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("got %v", err)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	item := func(name, description string) string {
		return `{"server": {"name": "` + name + `", "description": "` + description + `", "version": "1.0.0"}}`
	}
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprintf(w, `{"servers": [%s, %s, {"server": {"name": "bad"}}], "metadata": {"nextCursor": "a/b:1"}}`, item("com.example/weather", "Rain"), item("com.example/weather-2", "Sun"))
			return
		}
		fmt.Fprintf(w, `{"servers": [%s, %s]}`, item("com.example/weather", "again rain"), item("com.example/weather-3", "rain too"))
	})
	l, err := c.Search(t.Context(), []string{"rain", "Weather"}, 10)
	if err != nil || len(l.Servers) != 2 || l.Servers[1].Name != "com.example/weather-3" || l.Invalid != 1 || l.More {
		t.Errorf("%+v %v", l, err)
	}
	if len(asked) != 2 || asked[0] != "limit=100&search=Weather&version=latest" || asked[1] != "cursor=a%2Fb%3A1&limit=100&search=Weather&version=latest" {
		t.Errorf("asked %q", asked)
	}
	if l, err = c.Search(t.Context(), []string{"weather"}, 1); err != nil || len(l.Servers) != 1 || !l.More {
		t.Errorf("%+v %v", l, err)
	}
}

// TestEndlessPages: pages that go on are left after some, and the ones that go round are an error.
func TestEndlessPages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		next  func(n int32) string
		asked int32
		more  bool
	}{
		"ends (control)": {func(n int32) string { return strings.Repeat("x", int(3-n)) }, 3, false},
		"goes on":        {func(n int32) string { return fmt.Sprint(n) }, maxPages, true},
		"goes round":     {func(int32) string { return "same" }, 2, false},
		"grows":          {func(int32) string { return strings.Repeat("x", maxCursor+1) }, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"servers": [], "metadata": {"nextCursor": %q}}`, tc.next(asked.Add(1)))
			})
			l, err := c.Search(t.Context(), []string{"x"}, 5)
			if ended := name == "ends (control)" || tc.more; ended != (err == nil) || l.More != tc.more || asked.Load() != tc.asked {
				t.Errorf("%v, more %v, asked %d times", err, l.More, asked.Load())
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		Official: true, "https://registry.example/api": true, "http://127.0.0.1:80": true, "http://localhost:80/": true, "http://[::1]:80": true,
		"http://registry.example": false, "http://127.0.0.1.example": false, "ftp://registry.example": false, "registry.example": false, "": false,
		"https://user@registry.example": false, "https://registry.example?x": false, "https://registry.example#x": false, "file:///etc": false,
	} {
		if _, err := New(address); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}
