package call_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children"
	"mcphub/e2e/childtest"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/internal/jsonrpc"
	"mcphub/validate/policy"
)

// two returns a stage with two children of these scripts.
func two(one, other childtest.Script) staging {
	return staging{scripts: []scriptedChild{{name: "kid", script: one}, {name: "two", script: other}}}
}

// A name that stands for no tool is refused with what there is.
func TestToolsThatThereAreNot(t *testing.T) {
	t.Parallel()
	with := oneChild(fastKid)
	with.broken = []configuration.Broken{{Name: "odd", Prefix: "odd__", Reason: "hub.json:3:1: it is odd"}, {Name: "bare", Reason: "no prefix"}}
	with.own = []catalog.HubTool{
		{Name: "list-tools", Def: []byte(`{"name":"list-tools","inputSchema":{"type":"object"}}`)},
		{Name: "call-tool", Def: []byte(`{"name":"call-tool","inputSchema":{"type":"object"}}`)},
	}
	with.recorded = true
	onStage(t, with, func(s *stage) {
		for params, want := range map[string][]string{
			`{"name":"kid__nothing"}`: {"Unknown tool 'kid__nothing'"},
			`{"name":"odd__tool"}`:    {"isError", `The server \"odd\" cannot be run`, "it is odd"},
			`{"name":"other"}`:        {"Unknown tool 'other'", "!no prefix"},
			`{"name":7}`:              {"error", "the name of a tool"},
			`{"name":"list-tools"}`:   {`{"own":"list-tools"}`},

			`{"name":"call-tool","arguments":{}}`:                                                          {"isError", "serverName"},
			`{"name":"call-tool","arguments":{"serverName":"kid"}}`:                                        {"isError", "toolName"},
			`{"name":"call-tool","arguments":{"serverName":"no","toolName":"echo"}}`:                       {"isError", `There is no server \"no\". Servers: \"kid\"`},
			`{"name":"call-tool","arguments":{"serverName":"odd","toolName":"echo"}}`:                      {"isError", "it is odd"},
			`{"name":"call-tool","arguments":{"serverName":"kid","toolName":"no"}}`:                        {"isError", `has no tool \"no\"`, "echo"},
			`{"name":"call-tool","arguments":{"serverName":"kid","toolName":"echo","toolArgs":{"z":1.0}}}`: {`"structuredContent":{"z":1.0}`, "!isError"},
			`{"name":"call-tool","arguments":{"serverName":"kid","toolName":"noticed"}}`:                   {"initialize", "!isError"},
		} {
			got := s.callWaiting(params)
			for _, part := range want {
				if not, is := strings.CutPrefix(part, "!"); is == strings.Contains(got, not) {
					t.Errorf("%s: want %q in %s", params, part, got)
				}
			}
		}
		if got := s.children.messagesSent("tools/call"); len(got) != 2 || !strings.Contains(strings.Join(got, ""), `{"name":"echo","arguments":{"z":1.0}}`) || !strings.Contains(strings.Join(got, ""), `{"name":"noticed"}`) {
			t.Errorf("sent %q", got)
		}
		// Inside call-tool a path has the pointer that the client sees, and a token is passed on.
		s.wantParts(s.callWaiting(`{"name":"call-tool","arguments":{"serverName":"kid","toolName":"echo","toolArgs":`+readArgs(s.outside)+`}}`), "/toolArgs/path")
		s.callWaiting(`{"name":"call-tool","arguments":{"serverName":"kid","toolName":"echo","toolArgs":{}},"_meta":{"progressToken":9,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}`)
		if got := s.children.messagesSent("tools/call"); !strings.Contains(got[len(got)-1], `"_meta":{`) || !strings.Contains(got[len(got)-1], "traceparent") || strings.Contains(got[len(got)-1], `"progressToken":9`) {
			t.Errorf("sent %q", got)
		}
		if of := s.CalledTool(request(t, "tools/call", echoParams(`{}`))); of == nil || of.OwnName != "echo" {
			t.Errorf("a call of %+v", of)
		}
		if of := s.CalledTool(request(t, "prompts/get", echoParams(`{}`))); of != nil {
			t.Errorf("a prompt is a call of %+v", of)
		}
		s.wantReleased()
	})
}

// A server that the rules deny is named by none of its tools but the ones that a call names: the denial says why.
func TestToolsOfADeniedServer(t *testing.T) {
	t.Parallel()
	with := two(childtest.Script{Library: true}, childtest.Script{})
	with.own = []catalog.HubTool{{Name: "call-tool", Def: []byte(`{"name":"call-tool","inputSchema":{"type":"object"}}`)}}
	with.rules, with.unknown = []policy.Rule{{Name: "none", Then: policy.Deny, Servers: []string{"kid"}}}, true
	onStage(t, with, func(s *stage) {
		s.wantParts(s.callWaiting(`{"name":"call-tool","arguments":{"serverName":"kid","toolName":"echo"}}`), `the rule \"none\"`)
		s.wantParts(s.callWaiting(echoParams(`{}`)), `the rule \"none\"`)
		s.wantParts(answerText(s.ServePrompt(s.Context(), request(t, "prompts/get", `{"name":"kid__greet"}`))), `the rule \"none\"`)
		s.wantReached("tools/call", 0)
		s.wantReached("prompts/get", 0)
	})
}

// A name goes to the child whose prefix it has if the list that it would be on cannot be read, and is judged as that of a tool without a schema. It
// does not wait for the list for as long as a start may take. What the operator does not want stays out, and what a list lacks that can be read is refused.
func TestANameOfAListThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]string{"it fails": `{"code":-32603,"message":"no list"}`, "it is not known": `{"code":-32601,"message":"no list"}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := oneChild(childtest.Script{Library: true, Errors: map[string]string{"tools/list": refusal, "prompts/list": refusal}})
			with.own = []catalog.HubTool{{Name: "call-tool", Def: []byte(`{"name":"call-tool","inputSchema":{"type":"object"}}`)}}
			with.options = func(set *configuration.Settings) { set.Children[0].Exclude = []string{"noticed"} }
			with.unknown, with.recorded = true, true
			onStage(t, with, func(s *stage) {
				began := time.Now()
				s.wantParts(s.callWaiting(echoParams(`{"z":1.0}`)), `"structuredContent":{"z":1.0}`, "!isError")
				if took := time.Since(began); took > 6*time.Second {
					t.Errorf("the first call took %s", took)
				}
				began = time.Now()
				s.wantParts(s.callWaiting(echoParams(`{"z":2.0}`)), `"structuredContent":{"z":2.0}`, "!isError")
				s.wantParts(s.callWaiting(echoParams(readArgs(s.root))), "!isError")
				s.wantParts(s.callWaiting(echoParams(readArgs(s.outside))), "isError", "is outside")
				s.wantParts(s.callWaiting(`{"name":"kid__noticed"}`), "Unknown tool 'kid__noticed'")
				s.wantParts(s.callWaiting(`{"name":"kid__"}`), "Unknown tool 'kid__'")
				s.wantParts(s.callWaiting(`{"name":"other"}`), "Unknown tool 'other'")
				inner := `{"name":"call-tool","arguments":{"serverName":"kid","toolName":`
				s.wantParts(s.callWaiting(inner+`"echo","toolArgs":{"z":3.0}}}`), `"structuredContent":{"z":3.0}`, "!isError")
				s.wantParts(s.callWaiting(inner+`"noticed"}}`), "isError", `has no tool \"noticed\"`)
				prompt := func(params string) string {
					return answerText(s.ServePrompt(s.Context(), request(t, "prompts/get", params)))
				}
				s.wantParts(prompt(`{"name":"kid__greet","arguments":`+readArgs(s.root)+`}`), `"name":"greet"`)
				s.wantParts(prompt(`{"name":"kid__greet","arguments":`+readArgs(s.outside)+`}`), "error", "is outside")
				if took := time.Since(began); took != 0 {
					t.Errorf("the other calls took %s", took)
				}
				s.wantReached("tools/call", 4)
				s.wantReached("prompts/get", 1)
				s.wantRecorded("kid echo allow ok", "kid echo allow ok", "kid echo allow ok", "kid echo deny outside", "kid echo allow ok", "kid  allow ok", "kid  deny outside")
				s.wantReleased()
			})
		})
	}
	onStage(t, oneChild(childtest.Script{Library: true}), func(s *stage) { // control: the lists are read
		s.wantParts(s.callWaiting(`{"name":"kid__other"}`), "Unknown tool 'kid__other'")
		s.wantParts(answerText(s.ServePrompt(s.Context(), request(t, "prompts/get", `{"name":"kid__other"}`))), "There is no prompt")
		s.wantReached("tools/call", 0)
		s.wantReached("prompts/get", 0)
	})
}

// A tool that could not be listed is judged by its definition as soon as the list can be read.
func TestAListThatCanBeReadMeanwhile(t *testing.T) {
	t.Parallel()
	defs := filepath.Join(t.TempDir(), "defs")
	define := func(text string) {
		if err := os.WriteFile(defs, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	define(`broken`)
	onStage(t, oneChild(childtest.Script{Defs: defs}), func(s *stage) {
		args := `{"n":"text"}`
		s.wantParts(s.callWaiting(echoParams(args)), "!isError")
		define(`{"name":"echo","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}`)
		time.Sleep(10 * time.Minute)
		s.wantParts(s.callWaiting(echoParams(args)), "isError", "Invalid arguments")
		s.wantReached("tools/call", 1)
		s.wantReleased()
	})
}

// A name that may belong to a child which has not listed its tools yet waits for it. What does not come up is told.
func TestANameWaitsForItsChild(t *testing.T) {
	t.Parallel()
	with := oneChild(childtest.Script{StartDelay: 3 * time.Second, Library: true})
	with.unknown = true
	with.own = []catalog.HubTool{{Name: "call-tool", Def: []byte(`{"name":"call-tool","inputSchema":{"type":"object"}}`)}}
	for name, ask := range map[string]func(s *stage, ctx context.Context) string{
		"a tool": func(s *stage, ctx context.Context) string {
			return answerText(s.ServeTool(ctx, request(s.T, "tools/call", echoParams(`{}`, `"_meta":{"progressToken":"mine"}`))))
		},
		"call-tool": func(s *stage, ctx context.Context) string {
			return answerText(s.ServeTool(ctx, request(s.T, "tools/call", `{"name":"call-tool","arguments":{"serverName":"kid","toolName":"echo"},"_meta":{"progressToken":"mine"}}`)))
		},
		"a prompt": func(s *stage, ctx context.Context) string {
			return answerText(s.ServePrompt(ctx, request(s.T, "prompts/get", `{"name":"kid__greet","_meta":{"progressToken":"mine"}}`)))
		},
		"a completion": func(s *stage, ctx context.Context) string {
			params := `{"ref":{"type":"ref/prompt","name":"kid__greet"},"argument":{"name":"x","value":"y"},"_meta":{"progressToken":"mine"}}`
			return answerText(s.ServeCompletion(ctx, request(s.T, "completion/complete", params)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, with, func(s *stage) {
				start := time.Now()
				s.wantParts(ask(s, s.Context()), "!error", "!isError")
				if waited := time.Since(start); waited != 3*time.Second {
					t.Errorf("it waited %s", waited)
				}
				if got := s.client.messenger.notes(); len(got) != 1 || !strings.Contains(got[0], `"message":"starting kid"`) || !strings.Contains(got[0], `"progressToken":"mine"`) {
					t.Errorf("told %q", got)
				}
				s.wantReleased()
			})
			onStage(t, with, func(s *stage) { // given up
				ctx, giveUp := context.WithTimeout(s.Context(), time.Second)
				defer giveUp()
				start := time.Now()
				s.wantParts(ask(s, ctx), "!unknown", "!there is no", "!has no tool")
				if waited := time.Since(start); waited != time.Second {
					t.Errorf("it was given up, and waited %s", waited)
				}
				if time.Sleep(5 * time.Second); len(s.children.messagesSent("tools/call"))+len(s.children.messagesSent("prompts/get")) != 0 {
					t.Error("it was made after it was given up")
				}
				s.wantReleased()
			})
			dead := with
			dead.scripts = []scriptedChild{{name: "kid", script: childtest.Script{Exit: 3}}}
			onStage(t, dead, func(s *stage) {
				s.wantParts(ask(s, s.Context()), "hung up while starting")
			})
		})
	}
}

// A call of a tool that is listed waits until its child has started again, and no longer than its client waits.
func TestAListedToolWaitsForItsChild(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{time.Second, time.Minute} {
		onStage(t, oneChild(childtest.Script{StartDelay: 3 * time.Second}), func(s *stage) {
			s.wantParts(s.callWaiting(echoParams(`{}`)), "!error", "!isError")
			s.children.crash("kid")
			synctest.Wait()
			ctx, giveUp := context.WithTimeout(s.Context(), limit)
			defer giveUp()
			start := time.Now()
			got := answerText(s.ServeTool(ctx, request(t, "tools/call", echoParams(`{}`))))
			switch waited := time.Since(start); {
			case limit == time.Second && waited != limit:
				t.Errorf("it was given up, and waited %s: %s", waited, got)
			case limit != time.Second && waited <= 3*time.Second:
				t.Errorf("control: it waited %s: %s", waited, got)
			case limit != time.Second:
				s.wantParts(got, "!error", "!isError")
			}
			s.wantReleased()
		})
	}
}

// A prompt and a completion are scanned, and reach their child under its own name. What there is not is refused.
func TestPromptsAndCompletions(t *testing.T) {
	t.Parallel()
	with := oneChild(childtest.Script{Library: true})
	with.recorded = true
	onStage(t, with, func(s *stage) {
		prompt := func(params string) string {
			return answerText(s.ServePrompt(s.Context(), request(t, "prompts/get", params)))
		}
		complete := func(params string) string {
			return answerText(s.ServeCompletion(s.Context(), request(t, "completion/complete", params)))
		}
		inside, outside := s.root, s.outside
		s.wantParts(prompt(`{"name":"kid__greet","arguments":{"path":"`+inside+`"}}`), `"name":"greet"`)
		s.wantParts(prompt(`{"name":"kid__greet","arguments":`+readArgs(outside)+`}`), "error", "is outside")
		s.wantParts(prompt(`{"name":"kid__none"}`), "There is no prompt")
		s.wantParts(prompt(`{}`), "the name of a prompt")
		ref := func(kind, of, value string) string {
			name := map[string]string{"prompt": "path", "resource": "id", "other": "id"}[kind]
			return `{"ref":{"type":"ref/` + kind + `",` + of + `},"argument":{"name":"` + name + `","value":"` + value + `"}}`
		}
		s.wantParts(complete(ref("prompt", `"name":"kid__greet"`, inside)), `"name":"greet"`)
		s.wantParts(complete(ref("prompt", `"name":"kid__greet"`, outside)), "is outside")
		s.wantParts(complete(ref("prompt", `"name":"kid__none"`, inside)), "There is no prompt")
		s.wantParts(complete(ref("resource", `"uri":"note://{id}"`, "x")), `"uri":"note://{id}"`)
		s.wantParts(complete(ref("resource", `"uri":"note://1"`, "x")), `"completion"`)
		s.wantParts(complete(ref("resource", `"uri":"none://{id}"`, "x")), "There is no resource template")
		s.wantParts(complete(ref("other", `"uri":"x"`, "x")), "ref/prompt")
		s.wantParts(complete(`{"ref":{}}`), "needs an argument")
		s.wantParts(complete(`{"ref":{},"argument":{"name":"x"}}`), "needs an argument")
		s.wantParts(complete(`[1]`), "error")
		s.wantReached("prompts/get", 1)
		s.wantReached("completion/complete", 3)
		s.wantReleased()
	})
}

// A resource is asked of the children that may have it, one after the other. What only one can have is asked of that one.
func TestResources(t *testing.T) {
	t.Parallel()
	with := two(childtest.Script{Library: true}, childtest.Script{Library: true, Books: 1})
	onStage(t, with, func(s *stage) {
		read := func(uri string) string {
			return answerText(s.ServeResource(s.Context(), request(t, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))))
		}
		s.wantParts(read("note://1"), `"uri":"note://1"`)
		s.wantParts(read("book://0"), `"uri":"book://0"`)
		s.wantParts(read("mcphub://two/note://1"), `"contents":[{"uri":"mcphub://two/note://1"`)
		s.wantReached("resources/read", 3)
		s.wantParts(read("gone:x"), "error", "-32002", "not here")
		s.wantReached("resources/read", 5)
		s.wantParts(read("file://"+s.outside), "is outside")
		s.wantReached("resources/read", 5)
		s.wantParts(read("mcphub://results/AAAAAAAAAAAAAAAAAAAAAAAAAA"), "error", "there is no result")
		s.wantParts(answerText(s.ServeResource(s.Context(), request(t, "resources/read", `{}`))), "a URI")
		ctx, giveUp := context.WithCancel(s.Context())
		giveUp()
		s.ServeResource(ctx, request(t, "resources/read", `{"uri":"gone:x"}`))
		s.wantReached("resources/read", 5)
		// What is denied at the first is not tried at the next.
		s.reload(nil, policy.Rule{Name: "not there", Then: policy.Deny, Servers: []string{"kid"}, Tools: []string{"resources/read"}})()
		s.wantParts(read("gone:x"), "not there")
		s.wantReached("resources/read", 5)
		s.wantReleased()
	})
}

// A child whose list cannot be read is asked before one that lists something of the same scheme. Control: it lists nothing.
func TestAResourceOfAListThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const refusal = `{"code":-32603,"message":"no list"}`
	owner := childtest.Script{Library: true, Replies: map[string]string{"resources/read": `{"contents":[{"uri":"book://9","text":"the owner's"}]}`}}
	for refused, want := range map[bool]string{true: "the owner's", false: `"uri\":\"book://9`} {
		if owner.Replies["resources/list"], owner.Errors = `{"resources":[]}`, nil; refused {
			owner.Errors = map[string]string{"resources/list": refusal, "resources/templates/list": refusal}
			delete(owner.Replies, "resources/list")
		}
		onStage(t, two(childtest.Script{Library: true, Books: 1}, owner), func(s *stage) {
			s.wantParts(answerText(s.ServeResource(s.Context(), request(t, "resources/read", `{"uri":"book://9"}`))), want, "!error")
			s.wantReached("resources/read", 1)
			s.wantReleased()
		})
	}
}

// If a child is not available that may have a resource, the error names it. Control: the other one has the resource.
func TestAResourceOfAChildThatIsDown(t *testing.T) {
	t.Parallel()
	with := two(childtest.Script{Library: true}, childtest.Script{Exit: 3})
	with.unknown = true
	onStage(t, with, func(s *stage) {
		read := func(uri string) string {
			return answerText(s.ServeResource(s.Context(), request(t, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))))
		}
		s.wantParts(read("gone:x"), "error", "-32002", `Not available: \"two\"`, "mcphub status")
		s.wantParts(read("note://1"), `"uri":"note://1"`, "!Not available")
		s.wantReleased()
	})
}

// Of what the children say that do not have a resource, the likeliest one's counts that knows the request at all.
func TestTheLikeliestChildAnswersForAResource(t *testing.T) {
	t.Parallel()
	onStage(t, two(childtest.Script{Offers: `{"resources":{}}`}, childtest.Script{Library: true}), func(s *stage) {
		// kid says that it does not know the method.
		s.wantParts(answerText(s.ServeResource(s.Context(), request(t, "resources/read", `{"uri":"gone:x"}`))), "-32002", "not here")
		s.wantReached("resources/read", 2)
		s.wantReleased()
	})
	odd := childtest.Script{
		Offers: `{"resources":{}}`, Replies: map[string]string{"resources/list": `{"resources":[]}`},
		Errors: map[string]string{"resources/read": `{"code":-32603,"message":"odd"}`},
	}
	onStage(t, two(childtest.Script{Library: true}, odd), func(s *stage) {
		s.wantParts(answerText(s.ServeResource(s.Context(), request(t, "resources/read", `{"uri":"gone:x"}`))), "-32002", "not here")
		s.wantReached("resources/read", 2)
		s.wantReleased()
	})
}

// A completion of a template waits until what the children offer is known.
func TestATemplateWaitsForItsChild(t *testing.T) {
	t.Parallel()
	with := oneChild(childtest.Script{StartDelay: 3 * time.Second, Library: true})
	with.unknown = true
	onStage(t, with, func(s *stage) {
		ref := `{"ref":{"type":"ref/resource","uri":"note://{id}"},"argument":{"name":"id","value":""}}`
		s.wantParts(answerText(s.ServeCompletion(s.Context(), request(t, "completion/complete", ref))), `"completion"`)
		s.wantReleased()
	})
}

// A reload that comes while resources are asked for is followed: what it denies is not sent.
func TestAResourceThatAReloadOvertakes(t *testing.T) {
	t.Parallel()
	for _, replaced := range []bool{true, false} {
		onStage(t, oneChild(childtest.Script{Library: true}), func(s *stage) {
			s.instances.busy = 2
			s.instances.acquire = func() error {
				s.instances.acquire = nil
				s.reload(func(set *configuration.Settings) {
					if replaced {
						set.Children[0].Spec.Args = []string{"new"}
					}
				})()
				return nil
			}
			s.wantParts(answerText(s.ServeResource(s.Context(), request(t, "resources/read", `{"uri":"note://1"}`))), "note://1", "!error")
			s.wantReached("resources/read", 1)
			s.wantReleased()
		})
	}
}

// What is asked just before a request is sent has the last word: its error is the answer, and nothing is sent. Control: it has none.
func TestWhatIsAskedBeforeARequestIsSent(t *testing.T) {
	t.Parallel()
	for sent, err := range []error{errors.New("the table is full"), nil} {
		with := oneChild(childtest.Script{Library: true})
		with.recorded = true
		onStage(t, with, func(s *stage) {
			m := request(t, "resources/subscribe", `{"uri":"note://1"}`)
			list, _, _ := s.ResourceSources(s.Context(), "note://1")
			answer, _ := s.SendAboutResource(s.Context(), m, list[0], m.Param("uri"), func(*children.Lease) error { return err })
			if err != nil {
				s.wantParts(answerText(answer), "error", "the table is full")
				s.wantRecorded("kid  allow not-sent")
			}
			s.wantReached("resources/subscribe", sent)
			s.wantReleased()
		})
	}
}

// chartsOf is the capabilities of a child with an extension.
const chartsOf = `{"extensions":{"com.example/charts":{}}}`

// A request that the protocol does not know goes to the child that has its extension, as bytes. What may belong to several is
// refused unless its params name something of one.
func TestExtensions(t *testing.T) {
	t.Parallel()
	with := two(childtest.Script{Offers: chartsOf, Library: true}, childtest.Script{Offers: chartsOf, Library: true, Books: 1})
	with.recorded = true
	onStage(t, with, func(s *stage) {
		ask := func(method, params string) string {
			return answerText(s.ServeExtension(s.Context(), request(t, method, params)))
		}
		s.wantParts(ask("charts/draw", `{"z":1.0}`), "may belong to several servers")
		s.wantParts(ask("charts/draw", `{"uri":"book://0","z":1.0}`), `"sent":{"uri":"book://0","z":1.0}`)
		s.wantParts(ask("charts/draw", `{"name":"two__echo"}`), `"sent":{"name":"echo"}`)
		s.wantParts(ask("charts/draw", `{"name":"two__greet"}`), `"sent":{"name":"greet"}`)
		s.wantParts(ask("charts/draw", `{"name":"nothing"}`), "may belong to several servers")
		s.wantParts(ask("charts/draw", `{"taskId":"none"}`), "may belong to several servers")
		s.wantParts(ask("charts/draw", fmt.Sprintf(`{"name":"two__echo","path":%q}`, s.outside)), "is outside")
		s.wantParts(ask("charts/draw", fmt.Sprintf(`{"name":"two__echo","path":%q}`, s.root)), readArgs(s.root)[len(`{"path":`):], "!error")
		s.wantParts(ask("mcphub/own", `{"uri":"book://0"}`), "No server behind this hub offers")
		s.wantParts(ask("rpc.discover", `{"uri":"book://0"}`), "No server behind this hub offers")
		s.wantParts(ask(strings.Repeat("x", 256), `{"uri":"book://0"}`), "!no method has a name")
		s.wantParts(ask(strings.Repeat("x", 257), `{"uri":"book://0"}`), "no method has a name of more than 256 bytes")
		for _, want := range []string{"two two__echo allow ok", "two two__echo deny outside", "refuse request"} {
			if got := s.decisions(); !slices.Contains(got, want) {
				t.Errorf("%q is not among what was recorded: %q", want, got)
			}
		}
		s.wantReleased()
	})
	onStage(t, oneChild(childtest.Script{Offers: chartsOf}), func(s *stage) {
		ask := func(method, params string) string {
			return answerText(s.ServeExtension(s.Context(), request(t, method, params)))
		}
		s.wantParts(ask("charts/draw", `{"z":1.0,"name":"kid__echo"}`), `"sent":{"z":1.0,"name":"echo"}`)
		s.wantParts(ask("charts/draw", `{"z":1.0}`), `"sent":{"z":1.0}`)
		s.wantParts(ask("charts/draw", `[1]`), "are to be an object")
		m := &jsonrpc.Message{}
		if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"charts/draw"}`), true, m); err != nil {
			t.Fatal(err)
		}
		s.wantParts(answerText(s.ServeExtension(s.Context(), m)), `"sent":null`)
		s.wantParts(ask("other/thing", `{}`), "!error") // there is but one
		// A notification is passed on, without the client's token, and is not answered.
		if answer := s.ServeExtension(s.Context(), notification(t, "notifications/charts/x", `{"z":1.0,"_meta":{"progressToken":5}}`)); answer.Error != nil || answer.Result != nil {
			t.Errorf("answered %s", answerText(answer))
		}
		if got := s.children.messagesSent("notifications/charts/x"); len(got) != 1 || !strings.Contains(got[0], `"z":1.0`) {
			t.Errorf("%q", got)
		}
		s.wantParts(answerText(s.ServeExtension(s.Context(), notification(t, "notifications/charts/x", readArgs(s.outside)))), "is outside")
		s.wantReached("notifications/charts/x", 1)
		s.wantReleased()
	})
	onStage(t, oneChild(childtest.Script{}), func(s *stage) {
		s.wantParts(answerText(s.ServeExtension(s.Context(), request(t, "charts/draw", `{}`))), "No server behind this hub offers")
	})
}

// A result of an extension's own type keeps that, and one of the protocol's does not.
func TestResultsOfExtensions(t *testing.T) {
	t.Parallel()
	with := oneChild(childtest.Script{Era: "modern", Offers: chartsOf, Replies: map[string]string{"charts/draw": `{"resultType":"chart","n":1.0}`, "charts/plain": `{"n":1.0}`}})
	onStage(t, with, func(s *stage) {
		s.wantParts(answerText(s.ServeExtension(s.Context(), request(t, "charts/plain", `{}`))), `"n":1.0`)
		plain := s.client.kept.Load()
		s.wantParts(answerText(s.ServeExtension(s.Context(), request(t, "charts/draw", `{}`))), `"resultType":"chart"`)
		if plain || !s.client.kept.Load() {
			t.Errorf("kept: %t, then %t", plain, s.client.kept.Load())
		}
		s.wantReleased()
	})
	typed := map[string]string{"charts/task": `{"resultType":"task","taskId":"t"}`, "charts/input": `{"resultType":"input_required","requestState":"s"}`}
	onStage(t, oneChild(childtest.Script{Offers: chartsOf, Replies: typed}), func(s *stage) {
		for _, method := range []string{"charts/draw", "charts/task", "charts/input"} {
			s.ServeExtension(s.Context(), request(t, method, `{}`))
			if s.client.kept.Load() {
				t.Errorf("the result of %s keeps its type", method)
			}
		}
	})
}

// A request of an extension about a URI is asked of the ones that have the extension, and the URI is the client's in the answer.
func TestExtensionsByURI(t *testing.T) {
	t.Parallel()
	file := "skill://a/SKILL.md"
	skilled := childtest.Script{Skills: map[string]string{file: "---\nname: a\ndescription: b\n---\n"}}
	onStage(t, two(skilled, childtest.Script{Library: true}), func(s *stage) {
		read := func(uri string) string {
			return answerText(s.ServeExtension(s.Context(), request(t, "resources/directory/read", fmt.Sprintf(`{"uri":%q}`, uri))))
		}
		s.wantParts(read("skill://a"), "SKILL.md")
		s.wantParts(read("file://"+s.outside), "error")
		s.wantParts(read("book://0"), "error")
		s.wantReleased()
	})
	other := childtest.Script{Skills: map[string]string{"skill://b/SKILL.md": "---\nname: b\ndescription: c\n---\n"}}
	onStage(t, two(skilled, other), func(s *stage) {
		read := func(uri string) string {
			return answerText(s.ServeExtension(s.Context(), request(t, "resources/directory/read", fmt.Sprintf(`{"uri":%q}`, uri))))
		}
		s.wantParts(read("skill://b"), "skill://b/SKILL.md")
		s.wantParts(read("skill://none"), "error", "!may belong to several servers")
		s.wantParts(answerText(s.ServeExtension(s.Context(), request(t, "resources/directory/read", `{}`))), "may belong to several servers")
		s.wantReleased()
	})
}
