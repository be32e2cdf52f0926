package protocol

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcphub/e2e/ide"
	"mcphub/e2e/world"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
	"mcphub/internal/redact"
)

// recordedMethods are the requests of which each has its line before it.
var recordedMethods = []string{"tools/call", "prompts/get", "resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete"}

// isRecorded holds that each request that came to the child has its line, and that requests of each kind came to it. A call that a child of the newer
// era answers with a question comes to it again with the answer; for a client of the older era that is the same call.
func (p *party) isRecorded(w *world.World, hub *world.Witnessed, modernChild bool) {
	p.t.Helper()
	p.works("call-tool", obj{"serverName": "kid", "toolName": "takes_path", "toolArgs": obj{"path": w.Path("project", "hello.txt")}}, "hello.txt")
	p.call("completion/complete", obj{"ref": obj{"type": "ref/prompt", "name": "kid__test_prompt_with_arguments"}, "argument": obj{"name": "arg1", "value": "t"}})
	if !p.modern {
		p.call("resources/unsubscribe", obj{"uri": "test://watched-resource"})
	}
	reached, recorded := countReached(reached(hub)), map[string]int{}
	all, err := trail.Decisions(w.AuditDir(), trail.Filter{})
	world.Must(p.t, err)
	for i := range all {
		if d := &all[i]; d.Kind == audit.KindDecision && d.Decision == "allow" {
			recorded[keyOf(d.Method, d.Tool)]++
		}
	}
	methods := map[string]bool{}
	for key, n := range reached {
		methods[strings.Fields(key)[0]] = true
		if recorded[key] < n {
			p.t.Errorf("%s reached the child %d times, and has %d lines", key, n, recorded[key])
		}
	}
	for _, m := range recordedMethods {
		if !methods[m] && (m != "resources/unsubscribe" && m != "resources/subscribe" || !modernChild && !p.modern) {
			p.t.Errorf("no %s reached the child, so nothing is shown of it: %v", m, slices.Sorted(maps.Keys(reached)))
		}
	}
}

func keyOf(method, tool string) string {
	if method == "" {
		method = "tools/call"
	}
	if method != "tools/call" && method != "prompts/get" {
		tool = ""
	}
	return method + " " + strings.TrimPrefix(tool, "kid__")
}

// countReached counts the requests that came to a child, by method and name.
// The ones that only carry answers on are part of the request before.
func countReached(text string) map[string]int {
	n := map[string]int{}
	for line := range strings.Lines(text) {
		var m struct {
			Method string
			Params struct {
				Name           string
				InputResponses json.RawMessage
			}
		}
		if json.Unmarshal([]byte(line), &m) == nil && slices.Contains(recordedMethods, m.Method) && m.Params.InputResponses == nil {
			n[keyOf(m.Method, m.Params.Name)]++
		}
	}
	return n
}

// TestNoSecretIsWritten plants secrets wherever a client, hub.json and the
// environment can hold one, and looks for them in all that the hub writes.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	for _, modern := range []bool{false, true} {
		for _, overWeb := range []bool{false, true} {
			if modern != overWeb && !world.Long {
				continue
			}
			t.Run(world.EraNames[modern]+" on "+world.TransportNames[overWeb], func(t *testing.T) {
				t.Parallel()
				w := world.New(t)
				secret := planted{}
				url := w.Listen("web", world.Bin.Fixture, "-http", "127.0.0.1:0", "-era", world.EraNames[modern])
				kid := w.Tapped("kid", world.Bin.Fixture, "-era", world.EraNames[modern])
				kid["env"].(obj)["SERVICE_TOKEN"] = secret.make("env of a child")
				kid["env"].(obj)["EXPANDED"] = "${HUB_SECRET}"
				kid["inherit"] = []string{"HUB_SECRET"}
				web := obj{"url": url, "headers": obj{"Authorization": "Bearer " + secret.make("header"), "X-Api-Key": secret.make("other header"), "X-Hub": "${HUB_SECRET}"}}
				config := w.Config(obj{"kid": kid, "web": web}, obj{"audit": obj{"arguments": true}})
				hubSecret := "HUB_SECRET=" + secret.make("environment of the hub")
				args := []string{"serve", "--config", config, "--log-level", "trace"}
				p := newParty(t, modern, w.Project)
				var stderr func() string
				if overWeb {
					var mu sync.Mutex
					var said strings.Builder
					w.Heard = func(line string) {
						mu.Lock()
						defer mu.Unlock()
						said.WriteString(line + "\n")
					}
					stderr = func() string {
						mu.Lock()
						defer mu.Unlock()
						return said.String()
					}
					p.overWeb(w.Listening(exec.Command(world.Hub(t), append(args, "--http", "127.0.0.1:0")...), regexp.MustCompile(`serving (http://\S+/mcp)`), hubSecret))
				} else {
					p.overPipeIn(w, w.Env(hubSecret), world.Hub(t), args...)
					stderr = p.pipe.Stderr
				}
				p.plants(w, secret)
				if p.pipe != nil {
					p.pipe.End(world.StopBound)
				}
				if len(secret) < 20 {
					t.Errorf("only %d secrets were planted", len(secret))
				}
				text := map[string]string{"stderr": stderr()}
				world.EachFile(t, w.Path("home"), func(path string, held []byte) { text[path] = string(held) })
				lines := 0
				for where, text := range text {
					lines += strings.Count(text, redact.Mark)
					for value, what := range secret {
						if at := strings.Index(text, value); at >= 0 {
							t.Errorf("%s: %s: ...%s...", where, what, text[max(0, at-200):min(len(text), at+60)])
						}
					}
				}
				if lines < 8 {
					t.Errorf("%d places were left out: the secrets did not come as far as the record", lines)
				}
			})
		}
	}
}

// planted are secrets, and their places.
type planted map[string]string

func (s planted) make(where string) string {
	value := fmt.Sprintf("plantedSecret%dZq8vK2mWxR4", len(s)+1)
	s[value] = where
	return value
}

// plants says secrets in every place that a client has.
func (p *party) plants(w *world.World, secret planted) {
	say := func(name string, args obj) { p.tool(name, args) }
	inside := w.Path("project", "hello.txt")
	for _, kid := range []string{"kid__", "web__"} {
		say(kid+"takes_path", obj{"path": inside, "token": secret.make("an argument called token")})
		say(kid+"takes_path", obj{"path": inside, "more": obj{"apiKey": obj{"value": secret.make("an argument below apiKey")}}})
		say(kid+"takes_path", obj{"path": inside, "note": "curl https://user:" + secret.make("user and password in a URL") + "@example.org/?token=" + secret.make("parameter of a URL") +
			" -H 'Authorization: Bearer " + secret.make("bearer in a text") + "' --api-key " + secret.make("option in a text")})
		say(kid+"takes_path", obj{"path": w.Path("project", "password="+secret.make("a path inside"), "x")})
		say(kid+"takes_path", obj{"path": "/etc/passwd/token=" + secret.make("a path outside")})
		say(kid+"takes_path", obj{"path": inside, "password=" + secret.make("a key"): 1, "token=" + secret.make("another key"): 2})
		say(kid+"takes_path", obj{"path": 7, "token": secret.make("arguments that do not fit the schema")})
		say("call-tool", obj{"serverName": strings.TrimSuffix(kid, "__"), "toolName": "takes_path", "toolArgs": obj{"path": inside, "secret": secret.make("call-tool")}})
		p.may("prompts/get", obj{"name": kid + "test_prompt_with_arguments", "arguments": obj{"arg1": "password=" + secret.make("a prompt's argument"), "arg2": "x"}})
		p.may("prompts/get", obj{"name": kid + "test_input_required_result_prompt", "arguments": obj{}})
		p.may("completion/complete", obj{"ref": obj{"type": "ref/prompt", "name": kid + "test_prompt_with_arguments"}, "argument": obj{"name": "arg1", "value": "token=" + secret.make("a completion")}})
		say(kid+"test_elicitation", obj{"message": "who are you?"})
		say(kid+"test_input_required_result_multi_round", obj{})
	}
	for _, uri := range []string{
		"https://user:" + secret.make("user of a resource") + "@example.org/",
		"https://example.org/?access_token=" + secret.make("parameter of a resource"),
		ide.FileURI(inside) + "?token=" + secret.make("parameter of a file"),
		"test://template/password=" + secret.make("variable of a template") + "/data",
	} {
		p.may("resources/read", obj{"uri": uri})
		if !p.modern {
			p.may("resources/subscribe", obj{"uri": uri})
		}
	}
	p.may("tools/call", obj{"name": "nothing token=" + secret.make("a name that there is not"), "arguments": obj{"password": secret.make("arguments of such a name")}})
	secret["ada@example.org"] = "what a person answered"
	secret[`"context":"a test"`] = "what a person answered for a prompt"
}

// may is call for what may fail.
func (p *party) may(method string, params obj) {
	p.t.Helper()
	_, err := p.tried(p.t.Context(), method, params)
	world.Must(p.t, err)
}
