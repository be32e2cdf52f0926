package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/hub/modern"
	"mcphub/internal/jsonrpc"
)

// appChild returns a server with apps: tools, resources and what a call gives, raw.
func appChild(name, tools, resources, result string) spec.Spec {
	return played(name, spec.ShareSession, childtest.Script{Offers: `{"resources":{}}`, Library: true, Replies: map[string]string{
		"tools/list": `{"tools":[` + tools + `]}`, "resources/list": `{"resources":[` + resources + `]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"ui://app/{id}","name":"t"}]}`, "prompts/list": `{"prompts":[]}`, "tools/call": result,
	}})
}

const (
	viewTool    = `{"name":"view", "inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri": "ui://app/main.html","visibility":["model"],"n":12345678901234567890},"ui/resourceUri":"ui://app/main.html","z":1.0}}`
	refreshTool = `{"name":"%s","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}`
	plainTool   = `{"name":"%s","inputSchema":{"type":"object"}}`
	mainPage    = `{"uri":"ui://app/main.html","name":"main","mimeType":"text/html;profile=mcp-app","z":1.0}`
	shownResult = `{"content":[{"type":"resource_link","uri":"ui://app/main.html","z":1.0},{"type":"resource","resource":{"uri":"ui://app/main.html","text":"x"}},{"type":"text","text":"%s ui://app/main.html"}],"_meta":{"n":1e2,"ui":{"resourceUri":"ui://app/main.html"}}}`
)

// listOf returns the raw entries of a list.
func listOf(result, member string) (all []string) {
	_ = jsonrpc.Elements(jsonrpc.Get([]byte(result), member), func(raw []byte) bool {
		all = append(all, string(raw))
		return true
	})
	return all
}

// TestAppsOfTwoServersWithOneURI: the first keeps it, that of the second names its
// server, and everything that names it follows, the rest to the byte.
func TestAppsOfTwoServersWithOneURI(t *testing.T) {
	specs := []spec.Spec{
		appChild("one", viewTool, mainPage+`,{"uri":"ui://two/app/main.html","name":"mean"}`, fmt.Sprintf(shownResult, "one")),
		appChild("two", viewTool+`,{"name":"own","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://two/only.html"}}}`, mainPage, fmt.Sprintf(shownResult, "two")),
	}
	sum := sha256.Sum256([]byte("two\x00ui://app/main.html"))             // the mark of a name
	taken := "ui://two-" + hex.EncodeToString(sum[:4]) + "/app/main.html" // the first server has ui://two/app/main.html
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		list := c.raw("tools/list", `{}`)
		for _, want := range []string{
			strings.Replace(viewTool, `"view"`, `"one__view"`, 1),
			strings.ReplaceAll(strings.Replace(viewTool, `"view"`, `"two__view"`, 1), "ui://app/main.html", taken),
			`"resourceUri":"ui://two/only.html"`,
		} {
			if !strings.Contains(list, want) {
				t.Errorf("%s\nis not in %s", want, list)
			}
		}
		want := []string{mainPage, `{"uri":"ui://two/app/main.html","name":"mean"}`, strings.Replace(mainPage, "ui://app/main.html", taken, 1)}
		if got := listOf(c.raw("resources/list", `{}`), "resources"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("resources: %s", got)
		}
		if got := listOf(c.raw("resources/templates/list", `{}`), "resourceTemplates"); len(got) != 2 || !strings.Contains(got[1], `"ui://two/app/{id}"`) {
			t.Errorf("templates: %s", got)
		}
		for child, uri := range map[string]string{"one": "ui://app/main.html", "two": taken} {
			want := strings.ReplaceAll(fmt.Sprintf(shownResult, child), `"ui://app/main.html"`, `"`+uri+`"`)
			if got := c.raw("tools/call", toolCall(child+"__view", `{}`)); got != want {
				t.Errorf("%s: %s\nwant %s", child, got, want)
			}
		}
		for uri, remote := range map[string]string{
			"ui://app/main.html": "ui://app/main.html", taken: "ui://app/main.html", "ui://two/only.html": "ui://two/only.html",
			"ui://two/app/main.html": "ui://two/app/main.html", "ui://two/app/7": "ui://app/7",
		} {
			contents := listOf(c.raw("resources/read", fmt.Sprintf(`{"uri":%q}`, uri)), "contents")
			text, _ := jsonrpc.String(jsonrpc.Get([]byte(contents[0]), "text"))
			if got, _ := jsonrpc.String(jsonrpc.Get([]byte(contents[0]), "uri")); got != uri || text != fmt.Sprintf(`{"uri":%q}`, remote) {
				t.Errorf("%s: the child was asked %s, and it came back as %s", uri, text, got)
			}
		}
	})
}

// TestAppsOnTheFastPath: processes are called without waiting once they are ready,
// and results that name an app are not what goes that way.
func TestAppsOnTheFastPath(t *testing.T) {
	c := connect(t, newTestHub(t, appChild("one", viewTool, mainPage, fmt.Sprintf(shownResult, "one")), appChild("two", viewTool, mainPage, fmt.Sprintf(shownResult, "two"))))
	c.handshake(`{}`)
	c.raw("tools/list", `{}`)
	for child, uri := range map[string]string{"one": "ui://app/main.html", "two": "ui://two/app/main.html"} {
		want := strings.ReplaceAll(fmt.Sprintf(shownResult, child), `"ui://app/main.html"`, `"`+uri+`"`)
		for range 3 {
			if got := c.raw("tools/call", toolCall(child+"__view", `{}`)); got != want {
				t.Errorf("%s: %s\nwant %s", child, got, want)
			}
		}
	}
}

// TestAppsCallToolsByTheirOwnNames: an app knows nothing about the names towards
// the client. A name that several servers with apps have is refused, and so is one
// of a server without any.
func TestAppsCallToolsByTheirOwnNames(t *testing.T) {
	tools := func(all ...string) string { return strings.Join(all, ",") }
	tool := func(form, name string) string { return fmt.Sprintf(form, name) }
	result := func(name string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, name) }
	specs := []spec.Spec{
		appChild("one", tools(viewTool, tool(refreshTool, "both"), tool(refreshTool, "first"), tool(plainTool, "beside"), tool(plainTool, "second")), "", result("one")),
		appChild("two", tools(viewTool, tool(refreshTool, "both"), tool(refreshTool, "second"), tool(plainTool, "shared")), "", result("two")),
		appChild("bare", tools(tool(plainTool, "beside"), tool(plainTool, "lonely"), tool(plainTool, "first")), "", result("bare")),
	}
	play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		modern, _ := enterModern(t, h, `{}`)
		c.raw("tools/list", `{}`) // an app is there once its tool was listed
		modern.raw("tools/list", `{}`)
		for name, want := range map[string]string{"first": "one", "second": "two", "beside": "one", "shared": "two"} {
			if got, bad := text(c.raw("tools/call", toolCall(name, `{}`))); got != want || bad {
				t.Errorf("%s went to %s", name, got)
			}
			if got, bad := text(modern.raw("tools/call", toolCall(name, `{}`))); got != want || bad {
				t.Errorf("modern: %s went to %s", name, got)
			}
		}
		for name, says := range map[string]string{"both": `"one__both", "two__both"`, "view": `"one__view", "two__view"`, "lonely": "lonely", "nothing": "nothing"} {
			if e := c.refused("tools/call", toolCall(name, `{}`)); e.Code != jsonrpc.CodeInvalidParams || !strings.Contains(e.Message, says) {
				t.Errorf("%s: %v", name, e)
			}
		}
	})
}

// TestAppsOfModernClients: a child of the handshake's era is shown that the client
// of its session shows apps, and nothing else of what it declares of extensions.
func TestAppsOfModernClients(t *testing.T) {
	const ui = `"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"],"n":1e2}`
	for declared, want := range map[string]string{
		`{"extensions":{"com.example/x":{},` + ui + `}}`:  strings.TrimSuffix(modern.BridgedCaps, "}") + `,"extensions":{` + ui + `}}`,
		`{"extensions":{"com.example/x":{}}}`:             modern.BridgedCaps,
		`{"extensions":{"io.modelcontextprotocol/ui":7}}`: modern.BridgedCaps,
		`{}`: modern.BridgedCaps,
	} {
		for _, front := range []string{"stdio", "http"} {
			play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{Asks: true})}, func(t *testing.T, h *Hub, _ *stage) {
				var noticed string
				if front == "stdio" {
					c, _ := enterModern(t, h, declared)
					noticed, _ = text(c.raw("tools/call", toolCall("kid__noticed", `{}`)))
				} else {
					c := bubble(t, h).modern("")
					c.caps = declared
					noticed, _ = text(string(c.request("tools/call", toolCall("kid__noticed", `{}`), nil).Result))
				}
				_, params, _ := strings.Cut("\n"+noticed, "\ninitialize ")
				params, _, _ = strings.Cut(params, "\n")
				got := string(jsonrpc.Get([]byte(params), "capabilities"))
				if got != `{"roots":{"listChanged":true},`+strings.TrimPrefix(want, "{") {
					t.Errorf("%s, %s: shown %s", front, declared, got)
				}
			})
		}
	}
}
