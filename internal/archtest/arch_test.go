package archtest

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "mcphub"

// allowed lists, for each package, which packages of this module it may
// import. What is not named here may import none.
var allowed = map[string][]string{
	"internal/redact":                    {"internal/nesting", "internal/reference"},
	"rootsmgr/platform":                  {},
	"validate/resource":                  {"validate/chars"},
	"rootsmgr/pattern":                   {"rootsmgr/platform"},
	"rootsmgr/guard":                     {"internal/rawio", "rootsmgr/platform"},
	"rootsmgr":                           {"internal/worker", "rootsmgr/guard", "rootsmgr/pattern", "rootsmgr/platform"},
	"validate/strictjson":                {"validate/chars"},
	"validate/schema":                    {"internal/jsonschema", "validate/budget", "validate/chars", "validate/strictjson"},
	"validate/access":                    {"validate/chars"},
	"validate/shell":                     {"validate/access", "validate/budget", "validate/chars", "validate/uri"},
	"validate/machine":                   {"internal/commandline", "internal/inherit", "rootsmgr/guard", "rootsmgr/platform", "validate/access", "validate/budget", "validate/chars", "validate/shell"},
	"internal/callertoken":               {},
	"validate/declare":                   {"internal/commandline", "internal/memo", "internal/wellknown", "validate/access", "validate/chars", "validate/strictjson"},
	"validate/names":                     {"validate/access", "validate/chars"},
	"validate/uri":                       {"validate/chars"},
	"validate/text":                      {"validate/budget", "validate/chars", "validate/shell", "validate/uri"},
	"validate/detect":                    {"internal/jsonschema", "validate/access", "validate/budget", "validate/chars", "validate/declare", "validate/machine", "validate/names", "validate/resource", "validate/schema", "validate/shell", "validate/strictjson", "validate/text", "validate/uri"},
	"validate/policy":                    {"rootsmgr", "rootsmgr/guard", "rootsmgr/platform", "validate/access", "validate/chars", "validate/machine"},
	"validate":                           {"validate/resource", "rootsmgr", "rootsmgr/guard", "rootsmgr/platform", "validate/access", "validate/budget", "validate/chars", "validate/declare", "validate/detect", "validate/machine", "validate/names", "validate/policy", "validate/shell", "validate/strictjson", "validate/uri", "internal/methods"},
	"internal/spelling":                  {},
	"internal/inherit":                   {},
	"cmd/mcphub/internal/guardian":       {"internal/kept", "internal/proctree", "cmd/mcphub/internal/attach", "internal/caller", "cmd/mcphub/internal/notify"},
	"cmd/mcphub/internal/notify":         {},
	"internal/jsonrpc/broken":            {},
	"internal/kept":                      {},
	"internal/jsonrpc/lines":             {"internal/jsonrpc/broken", "internal/kept", "internal/rawio"},
	"internal/stdio":                     {"internal/rawio"},
	"internal/jsonrpc":                   {"internal/jsonrpc/broken", "internal/jsonrpc/lines", "internal/kept", "internal/printable", "internal/worker"},
	"hub/audit":                          {"internal/atomicfile", "internal/worker", "internal/rawio", "internal/nesting", "internal/redact"},
	"hub/audit/trail":                    {"internal/atomicfile", "hub/audit"},
	"cmd/mcphub/internal/config/hubfile": {"internal/atomicfile"},
	"cmd/mcphub/internal/config/jsonc":   {"internal/nesting"},
	"cmd/mcphub/internal/config/keys":    {"internal/reference", "validate/resource", "hub/toolset"},
	"cmd/mcphub/internal/config":         {"cmd/mcphub/internal/config/hubfile", "cmd/mcphub/internal/config/jsonc", "cmd/mcphub/internal/config/keys", "internal/spelling", "internal/printable", "internal/reference", "hub/toolset"},
	"internal/reference":                 {},
	"internal/trust":                     {"internal/ownership"},
	"internal/atomicfile":                {},
	"cmd/mcphub/internal/bearer":         {"internal/atomicfile", "children/consent"},
	"internal/pipe":                      {},
	"internal/caller":                    {"internal/pipe", "internal/proctree"},
	"children/consent":                   {"children/sandbox", "internal/atomicfile", "rootsmgr/guard", "internal/printable"},
	"cmd/mcphub/internal/secrets":        {"internal/atomicfile", "internal/reference"},
	"cmd/mcphub/internal/files":          {"internal/worker", "internal/jsonrpc", "internal/printable", "rootsmgr/platform", "internal/methods"},
	"internal/mirror":                    {"internal/jsonrpc"},
	"children/link":                      {"internal/jsonrpc"},
	"children/remote":                    {"children/link", "internal/jsonrpc", "internal/printable", "internal/mirror", "internal/methods", "internal/worker", "internal/trust"},
	"children/offers":                    {"children/link", "internal/atomicfile", "internal/jsonrpc", "internal/methods"},
	"internal/commandline":               {"internal/reference"},
	"internal/wellknown":                 {"internal/commandline"},
	"children/entry":                     {"internal/commandline"},
	"children/program":                   {"internal/commandline", "internal/wellknown", "children/entry", "children/sandbox", "internal/inherit", "rootsmgr/guard"},
	"children/gitconfig":                 {"internal/redact"},
	"children/confinement":               {"internal/wellknown", "internal/commandline", "internal/atomicfile", "children/gitconfig", "rootsmgr/guard", "children/hints", "children/entry", "children/consent", "internal/reference", "children/sandbox", "children/program"},
	"children/launch":                    {"internal/commandline", "children/confinement", "children/hints", "internal/atomicfile", "internal/reference", "rootsmgr", "rootsmgr/guard", "children/sandbox", "children/program"},
	"children/headers":                   {"children/launch", "children/process", "internal/jsonrpc", "rootsmgr/guard"},
	"children/process":                   {"children/launch", "children/link", "internal/jsonrpc", "internal/printable", "internal/proctree", "children/sandbox", "internal/worker", "children/program", "children/cgroup", "children/vfork"},
	"children/vfork":                     {},
	"children/cgroup":                    {"internal/proctree"},
	"children/modernlink":                {"children/link", "children/offers", "internal/jsonrpc", "internal/printable", "internal/methods", "internal/worker"},
	"children/negotiation":               {"children/link", "children/modernlink", "children/offers", "children/spec", "internal/jsonrpc", "internal/methods"},
	"children/health":                    {"internal/worker"},
	"children/limits":                    {},
	"children/servedroots":               {"children/link", "internal/jsonrpc", "rootsmgr/guard", "internal/worker", "children/program", "internal/methods"},
	"children/spec":                      {"internal/wellknown", "internal/commandline", "children/launch", "children/offers", "children/remote", "internal/jsonrpc", "rootsmgr/guard", "children/sandbox", "children/program", "internal/trust"},
	"children/run":                       {"children/hints", "children/negotiation", "children/health", "children/launch", "children/link", "children/modernlink", "children/offers", "children/servedroots", "children/spec", "internal/jsonrpc", "internal/jsonrpc/lines", "internal/worker", "internal/methods"},
	"children/preflight":                 {"children/confinement", "children/hints", "children/launch", "children/spec", "rootsmgr/guard"},
	"children":                           {"internal/commandline", "children/headers", "children/hints", "children/negotiation", "children/health", "children/launch", "children/limits", "children/link", "children/offers", "children/process", "children/remote", "children/run", "children/servedroots", "children/spec", "internal/jsonrpc", "internal/jsonrpc/lines", "internal/reference", "children/removal", "rootsmgr/guard", "children/sandbox", "children/packages", "internal/worker", "children/program", "children/confinement", "internal/methods"},
	"hub":                                {"internal/callertoken", "internal/kept", "hub/telemetry", "internal/caller", "hub/call", "hub/client", "hub/handshake", "hub/configuration", "hub/offering", "validate/policy", "children", "children/link", "children/offers", "children/run", "children/spec", "rootsmgr", "rootsmgr/guard", "rootsmgr/platform", "internal/jsonrpc", "internal/printable", "internal/mirror", "hub/seal", "hub/audit", "hub/approval", "hub/assignment", "hub/inflight", "hub/subscribe", "hub/surroundings", "hub/tasks", "hub/httpfront", "hub/httpfront/quota", "hub/catalog", "hub/record", "hub/declaration", "hub/modern", "children/sandbox", "hub/failure", "hub/httpfront/admission", "hub/outbox", "hub/params", "hub/results", "hub/status", "internal/methods", "hub/tracing", "hub/texts", "hub/toolset", "hub/turns", "hub/pin"},
	"cmd/mcphub/internal/admin":          {"internal/pipe", "hub", "internal/caller", "hub/approval", "cmd/mcphub/internal/rundir", "hub/status"},
	"cmd/mcphub/internal/console":        {"hub/status", "cmd/mcphub/internal/admin", "hub/audit", "hub/audit/trail", "cmd/mcphub/internal/layout", "internal/printable", "internal/proctree"},
	"cmd/mcphub/internal/attach":         {"cmd/mcphub/internal/config/hubfile", "cmd/mcphub/internal/rundir"},
	"cmd/mcphub/internal/attach/door":    {"internal/kept", "internal/proctree", "cmd/mcphub/internal/attach", "internal/caller"},
	"cmd/mcphub/internal/rundir":         {"internal/ownership"},
	"cmd/mcphub/internal/issuers":        {"internal/nesting", "cmd/mcphub/internal/oauth", "rootsmgr"},
	"cmd/mcphub/internal/loginpage":      {"cmd/mcphub/internal/oauth", "internal/printable"},
	"cmd/mcphub/internal/setup":          {"internal/redact", "cmd/mcphub/internal/loginpage", "internal/callertoken", "hub/pin", "internal/atomicfile", "internal/proctree", "children/headers", "children/offers", "children/hints", "children/consent", "internal/printable", "cmd/mcphub/internal/issuers", "internal/spelling", "hub", "hub/metricsfront", "validate", "validate/access", "validate/declare", "validate/policy", "children", "children/remote", "children/spec", "children/launch", "rootsmgr", "rootsmgr/guard", "rootsmgr/platform", "cmd/mcphub/internal/config", "cmd/mcphub/internal/config/hubfile", "cmd/mcphub/internal/config/jsonc", "cmd/mcphub/internal/config/keys", "cmd/mcphub/internal/exit", "internal/reference", "cmd/mcphub/internal/secrets", "hub/approval", "hub/catalog", "cmd/mcphub/internal/oauth", "cmd/mcphub/internal/oauth/logins", "children/sandbox", "cmd/mcphub/internal/bearer", "cmd/mcphub/internal/rundir", "internal/methods", "validate/strictjson", "internal/trust", "hub/toolset", "hub/fixed", "hub/turns"},
	"hub/approval":                       {"validate", "validate/access", "validate/policy", "children/spec", "rootsmgr", "rootsmgr/guard", "rootsmgr/platform", "internal/jsonrpc", "internal/printable"},
	"cmd/mcphub/internal/delivery":       {"internal/worker", "internal/atomicfile", "hub/audit"},
	"cmd/mcphub/internal/retention":      {"hub/audit", "hub/audit/trail"},
	"cmd/mcphub/internal/service":        {"cmd/mcphub/internal/loginpage", "cmd/mcphub/internal/retention", "internal/kept", "hub/exposition", "internal/caller", "children/consent", "hub", "hub/metricsfront", "children/spec", "children/process", "cmd/mcphub/internal/setup", "cmd/mcphub/internal/admin", "hub/audit", "cmd/mcphub/internal/childlog", "cmd/mcphub/internal/config", "cmd/mcphub/internal/config/hubfile", "cmd/mcphub/internal/exit", "cmd/mcphub/internal/guardian", "internal/rawio", "internal/stdio", "cmd/mcphub/internal/rundir", "cmd/mcphub/internal/attach/door", "cmd/mcphub/internal/config/keys", "cmd/mcphub/internal/attach", "internal/printable", "hub/status", "internal/proctree", "cmd/mcphub/internal/notify", "cmd/mcphub/internal/otlp", "cmd/mcphub/internal/desktop", "cmd/mcphub/internal/delivery"},
	"cmd/mcphub/internal/replay":         {"children/sandbox", "validate", "validate/access", "validate/policy", "hub/audit/trail", "internal/redact"},
	"cmd/mcphub/internal/client":         {"hub", "hub/catalog", "rootsmgr/platform", "cmd/mcphub/internal/service", "cmd/mcphub/internal/exit", "internal/jsonrpc", "hub/status", "internal/methods"},
	"cmd/mcphub/internal/trial":          {"children/hints", "children/learn", "children", "children/spec", "children/sandbox", "hub", "cmd/mcphub/internal/client", "internal/jsonrpc", "cmd/mcphub/internal/service", "hub/status"},
	"cmd/mcphub/internal/doctor":         {"internal/commandline", "internal/atomicfile", "children/hints", "cmd/mcphub/internal/client", "cmd/mcphub/internal/trial", "children", "children/spec", "children/launch", "children/process", "children/sandbox", "hub", "cmd/mcphub/internal/admin", "cmd/mcphub/internal/clients", "cmd/mcphub/internal/config", "cmd/mcphub/internal/exit", "cmd/mcphub/internal/guardian", "internal/printable", "internal/reference", "cmd/mcphub/internal/secrets", "cmd/mcphub/internal/setup", "cmd/mcphub/internal/rundir", "cmd/mcphub/internal/service", "cmd/mcphub/internal/config/keys", "hub/status"},
	"cmd/mcphub/internal/clients/edit":   {"internal/nesting"},
	"cmd/mcphub/internal/registry":       {"cmd/mcphub/internal/clients/edit", "internal/printable"},
	"cmd/mcphub/internal/clients":        {"internal/atomicfile", "cmd/mcphub/internal/clients/edit", "cmd/mcphub/internal/config", "internal/redact", "internal/reference"},
	"cmd/mcphub/internal/layout":         {"internal/printable"},
	"cmd/mcphub/internal/progress":       {"cmd/mcphub/internal/layout", "internal/printable"},
	"cmd/mcphub":                         {"hub/pin", "hub/toolset", "internal/proctree", "cmd/mcphub/internal/progress", "children/process", "internal/atomicfile", "children/preflight", "children/hints", "cmd/mcphub/internal/registry", "internal/caller", "children/consent", "children/learn", "children/sandbox", "children/sandbox/proof", "internal/spelling", "hub", "hub/approval", "validate", "validate/access", "validate/policy", "children", "children/offers", "children/spec", "rootsmgr", "rootsmgr/guard", "rootsmgr/platform", "cmd/mcphub/internal/setup", "cmd/mcphub/internal/service", "cmd/mcphub/internal/client", "cmd/mcphub/internal/doctor", "cmd/mcphub/internal/trial", "cmd/mcphub/internal/replay", "cmd/mcphub/internal/admin", "hub/audit", "hub/audit/trail", "cmd/mcphub/internal/clients", "cmd/mcphub/internal/config", "cmd/mcphub/internal/config/hubfile", "cmd/mcphub/internal/config/jsonc", "cmd/mcphub/internal/config/keys", "cmd/mcphub/internal/console", "cmd/mcphub/internal/exit", "cmd/mcphub/internal/files", "cmd/mcphub/internal/guardian", "internal/jsonrpc", "cmd/mcphub/internal/layout", "internal/printable", "internal/redact", "internal/reference", "cmd/mcphub/internal/secrets", "internal/stdio", "cmd/mcphub/internal/clients/edit", "cmd/mcphub/internal/oauth", "cmd/mcphub/internal/oauth/logins", "cmd/mcphub/internal/browser", "cmd/mcphub/internal/rundir", "cmd/mcphub/internal/attach", "hub/status", "hub/texts"},
	"hub/assignment":                     {"internal/worker", "children/sandbox", "children", "hub/approval", "hub/catalog", "hub/configuration", "hub/offering", "rootsmgr", "children/offers", "children/run", "children/spec", "rootsmgr/guard"},
	"hub/inflight":                       {"internal/jsonrpc", "children/run", "children/spec", "internal/methods"},
	"hub/tasks":                          {"children", "internal/jsonrpc", "children/link", "children/spec", "internal/methods", "hub/texts"},
	"hub/subscribe":                      {"children", "children/offers", "hub/modern", "hub/tasks", "internal/jsonrpc", "internal/printable", "internal/worker", "children/spec", "internal/methods"},
	"hub/httpfront/events":               {"internal/jsonrpc"},
	"hub/httpfront/quota":                {"internal/methods", "internal/printable"},
	"hub/httpfront/headers":              {"internal/jsonrpc", "internal/methods", "internal/mirror", "internal/printable", "hub/tracing"},
	"hub/httpfront/peers":                {"hub/httpfront/events", "hub/httpfront/headers", "hub/seal", "internal/printable"},
	"hub/httpfront":                      {"internal/callertoken", "hub/httpfront/admission", "hub/httpfront/events", "hub/httpfront/headers", "hub/httpfront/peers", "hub/httpfront/quota", "hub/seal", "internal/jsonrpc", "internal/mirror", "internal/printable", "internal/methods", "internal/worker", "hub/toolset"},
	"hub/definition":                     {"children/offers", "internal/jsonrpc", "internal/lazyregexp", "internal/nesting", "internal/printable", "validate/strictjson"},
	"hub/pin":                            {"children/offers", "internal/jsonrpc", "internal/lazyregexp", "internal/printable", "internal/redact", "validate/access", "validate/chars", "validate/names", "validate/strictjson"},
	"hub/catalog":                        {"hub/pin", "hub/definition", "hub/declaration", "hub/search", "rootsmgr", "validate", "validate/policy", "hub/audit", "internal/jsonrpc", "internal/mirror", "internal/printable", "children/sandbox", "children/offers", "internal/methods", "hub/texts", "hub/toolset", "hub/fixed"},
	"hub/toolset":                        {"validate/policy"},
	"hub/search":                         {"internal/spelling"},
	"hub/turns":                          {"validate/policy"},
	"hub/fixed":                          {"internal/jsonrpc", "internal/printable", "validate/strictjson"},
	"hub/results":                        {"internal/jsonrpc", "internal/printable"},
	"hub/tracing":                        {"internal/jsonrpc"},
	"cmd/mcphub/internal/otlp":           {"hub/tracing", "cmd/mcphub/internal/delivery"},
	"hub/exposition":                     {},
	"hub/telemetry":                      {"children", "children/spec", "hub/audit", "hub/exposition", "internal/jsonrpc", "internal/methods", "hub/tracing"},
	"hub/metricsfront":                   {"hub/httpfront/admission", "hub/telemetry", "hub/exposition", "internal/printable"},
	"hub/record":                         {"hub/telemetry", "children/sandbox", "hub/modern", "hub/audit", "internal/jsonrpc", "internal/jsonrpc/lines", "internal/printable", "internal/redact", "rootsmgr", "validate", "validate/access", "validate/policy", "internal/methods", "hub/tracing"},
	"hub/configuration":                  {"internal/callertoken", "hub/pin", "internal/kept", "children/preflight", "hub/telemetry", "internal/caller", "children", "children/offers", "children/remote", "children/spec", "hub/approval", "hub/catalog", "hub/record", "internal/jsonrpc", "internal/printable", "internal/reference", "rootsmgr", "rootsmgr/guard", "validate", "validate/access", "validate/policy", "children/sandbox", "hub/toolset", "hub/turns"},
	"hub/surroundings":                   {"children", "children/spec", "hub/catalog", "hub/configuration"},
	"hub/offering":                       {"children", "children/offers", "hub/catalog", "hub/configuration"},
	"hub/call":                           {"hub/turns", "hub/client", "hub/telemetry", "children/hints", "children", "children/link", "children/offers", "children/run", "children/spec", "hub/approval", "hub/catalog", "hub/configuration", "hub/declaration", "hub/inflight", "hub/modern", "hub/offering", "hub/params", "hub/record", "hub/tasks", "hub/audit", "internal/jsonrpc", "internal/jsonrpc/lines", "internal/printable", "rootsmgr", "rootsmgr/guard", "validate", "validate/policy", "validate/schema", "children/sandbox", "hub/results", "hub/rounds", "hub/login", "hub/failure", "internal/methods", "hub/tracing", "internal/worker", "hub/texts"},
	"hub/client":                         {"children", "children/spec", "hub/approval", "hub/rounds", "hub/telemetry", "internal/jsonrpc", "internal/methods", "internal/mirror", "internal/printable", "rootsmgr", "validate", "hub/inflight", "hub/record"},
	"hub/params":                         {"hub/modern", "internal/jsonrpc", "internal/methods"},
	"hub/httpfront/admission":            {"internal/mirror", "internal/printable", "rootsmgr", "hub/toolset"},
	"hub/failure":                        {"children", "children/hints", "children/sandbox", "hub/catalog", "hub/configuration", "hub/record", "hub/audit", "internal/jsonrpc", "rootsmgr", "validate", "children/run", "validate/policy", "validate/schema", "validate/strictjson", "hub/offering", "hub/texts", "hub/fixed", "hub/turns"},
	"hub/outbox":                         {"internal/worker"},
	"hub/login":                          {"internal/jsonrpc", "internal/printable", "internal/methods"},
	"hub/rounds":                         {"children", "hub/declaration", "hub/modern", "internal/jsonrpc", "internal/printable", "children/link", "internal/methods", "internal/worker"},
	"hub/handshake":                      {"hub/telemetry", "children", "children/link", "children/spec", "hub/client", "hub/declaration", "hub/modern", "internal/jsonrpc", "rootsmgr", "validate", "internal/methods"},
	"hub/declaration":                    {"internal/jsonrpc", "internal/printable", "rootsmgr", "internal/methods"},
	"hub/modern":                         {"hub/telemetry", "internal/worker", "children", "children/link", "children/run", "children/spec", "hub/declaration", "internal/jsonrpc", "internal/printable", "hub/seal", "hub/texts", "rootsmgr", "rootsmgr/guard", "validate", "hub/catalog", "internal/methods", "validate/strictjson"},
	"cmd/mcphub/internal/oauth":          {"internal/printable", "internal/trust"},
	"cmd/mcphub/internal/oauth/logins":   {"internal/callertoken", "cmd/mcphub/internal/oauth", "internal/printable", "cmd/mcphub/internal/secrets"},
	"children/sandbox":                   {"children/sandbox/proof", "children/sandbox/seatbelt", "children/gitconfig", "internal/rawio", "rootsmgr/guard", "rootsmgr/platform"},
	"children/hints":                     {"children/sandbox", "internal/printable"},
	"children/learn":                     {"children/sandbox"},
	"children/packages":                  {"internal/commandline", "children/confinement", "internal/atomicfile", "internal/printable", "children/removal", "children/launch", "children/program", "children/process", "children/sandbox", "rootsmgr/guard"},
	"hub/status":                         {"children", "children/hints", "children/link", "children/sandbox", "children/spec", "hub/approval", "hub/call", "hub/catalog", "hub/configuration", "hub/declaration", "hub/handshake", "hub/modern", "hub/record", "hub/audit", "internal/printable", "internal/redact", "rootsmgr", "rootsmgr/platform", "validate", "validate/policy"},
	"hub/texts":                          {"internal/printable", "validate", "validate/detect", "validate/policy", "validate/schema"},
}

// everywhere may be imported by every package: these import none, and stand beside the ones of the standard library.
var everywhere = []string{"internal/lazyregexp", "internal/memo", "internal/ownership", "internal/principal"}

// fenced lists packages from outside that only some packages may import, and why.
var fenced = []struct {
	path string
	only []string
	why  string
}{
	{"github.com/mark3labs/mcp-go/server", nil, "it compiles all meta-schemas of JSON Schema before main, in every command"},
	{"github.com/mark3labs/mcp-go/client", nil, "it imports mcp-go's server"},
	{"github.com/santhosh-tekuri/jsonschema/v6", []string{"internal/jsonschema", "validate/schema"}, "internal/jsonschema is a copy that compiles nothing before main; only the kinds of its errors are the library's"},
	{"github.com/mark3labs/mcp-go", []string{"hub", "hub/...", "cmd/mcphub/internal/files", "children/negotiation", "children/modernlink", "children/offers", "children/remote", "cmd/mcphub/internal/client"}, "rootsmgr, validate and the data plane know no MCP"},
	{"github.com/knadh/koanf", []string{"cmd/mcphub/internal/config"}, "configuration stops at one package"},
	{"github.com/godbus/dbus", []string{"cmd/mcphub/internal/desktop"}, "one package speaks to the desktop"},
	{"github.com/zalando/go-keyring", []string{"cmd/mcphub/internal/secrets"}, "one package keeps secrets"},
	{"filippo.io/age", []string{"cmd/mcphub/internal/secrets"}, "one package keeps secrets"},
	{"golang.org/x/oauth2", []string{"cmd/mcphub/internal/oauth"}, "one package asks for tokens"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"cmd/mcphub/internal/oauth", "hub/httpfront/admission"}, "the Go SDK has the formats of authorization, and nothing else here"},
	{"github.com/coreos/go-oidc", []string{"cmd/mcphub/internal/issuers"}, "one package verifies tokens"},
	{"pgregory.net/rapid", []string{"e2e/seeds"}, "one package seeds the tests"},
	{"os/exec", []string{"children/process", "cmd/mcphub/internal/browser", "e2e/needs", "e2e/testrun"}, "one package starts programs, and another the browser of a person; the others serve tests"},
}

type pkg struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
}

// listed keeps them: go list takes a while.
var listed = map[string][]pkg{}

// packages lists the packages of the module for one system. Tests are free to
// import what they like, so only the packages themselves are looked at.
func packages(t *testing.T, goos string) []pkg {
	t.Helper()
	if all := listed[goos]; all != nil {
		return all
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports", module+"/...")
	cmd.Env = append(cmd.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			listed[goos] = all
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func relative(importPath string) string { return strings.TrimPrefix(importPath, module+"/") }

func TestImports(t *testing.T) {
	needed := map[string]bool{}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, p := range packages(t, goos) {
			name := relative(p.ImportPath)
			if strings.HasPrefix(name, "e2e") {
				continue
			}
			for _, imp := range p.Imports {
				checkImport(t, goos, name, imp)
				needed[name+" imports "+relative(imp)] = true
			}
		}
	}
	for name, list := range allowed {
		for _, to := range list {
			if !needed[name+" imports "+to] {
				t.Errorf("%s may import %s, and does not: take it out of the list", name, to)
			}
		}
	}
}

func checkImport(t *testing.T, goos, name, imp string) {
	t.Helper()
	if strings.HasPrefix(imp, module+"/") {
		if to := relative(imp); !contains(everywhere, to) && !contains(allowed[name], to) {
			t.Errorf("%s: %s imports %s: the import graph only points down (docs/architecture.md)", goos, name, to)
		}
		return
	}
	for _, f := range fenced {
		if (imp == f.path || strings.HasPrefix(imp, f.path+"/")) && !contains(f.only, name) {
			t.Errorf("%s: %s imports %s: %s", goos, name, imp, f.why)
			return
		}
	}
}

// TestShelf: a package of internal serves hub, children, validate or rootsmgr, or a test of theirs. What the program alone needs is in
// cmd/mcphub/internal, which the compiler closes to all others.
func TestShelf(t *testing.T) {
	needed := map[string]bool{}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		byPath := map[string]pkg{}
		for _, p := range packages(t, goos) {
			byPath[p.ImportPath] = p
		}
		var mark func(all []string)
		mark = func(all []string) {
			for _, path := range all {
				if p, ours := byPath[path]; ours && !needed[goos+path] {
					needed[goos+path], needed[path] = true, true
					mark(p.Imports)
				}
			}
		}
		for _, p := range byPath {
			switch top, _, _ := strings.Cut(relative(p.ImportPath), "/"); top {
			case "hub", "children", "validate", "rootsmgr":
				mark(slices.Concat(p.Imports, p.TestImports, p.XTestImports))
			}
		}
	}
	for _, p := range packages(t, "linux") {
		if name := relative(p.ImportPath); strings.HasPrefix(name, "internal/") && name != "internal/archtest" && !needed[p.ImportPath] {
			t.Errorf("%s serves neither hub, children, validate nor rootsmgr: move it to cmd/mcphub/internal", name)
		}
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		below, all := strings.CutSuffix(l, "...")
		if l == s || all && strings.HasPrefix(s, below) {
			return true
		}
	}
	return false
}

// TestDocs holds that every package says in its doc.go what it is for.
func TestDocs(t *testing.T) {
	for _, p := range packages(t, "linux") {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s has no doc.go", relative(p.ImportPath))
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", relative(p.ImportPath), err)
			continue
		}
		if len(docText(file)) < 200 {
			t.Errorf("%s: doc.go must tell purpose, concurrency and what the package refuses to do", relative(p.ImportPath))
		}
	}
}

func docText(f *ast.File) string {
	if f.Doc == nil {
		return ""
	}
	return f.Doc.Text()
}

// TestNames refuses package names that say nothing about what is inside.
func TestNames(t *testing.T) {
	for _, p := range packages(t, "linux") {
		switch base := filepath.Base(p.ImportPath); base {
		case "util", "utils", "common", "types", "models", "helpers", "misc", "shared":
			t.Errorf("%s: %q names no thing", p.ImportPath, base)
		}
	}
}
