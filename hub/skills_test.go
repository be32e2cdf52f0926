package hub

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/spec"
	"mcphub/e2e/childtest"
	"mcphub/internal/jsonrpc"
	"mcphub/validate/policy"
)

// skillFiles are files of skills, three of them, under names of one's own, and one that everybody has.
func skillFiles(own string) map[string]string {
	return map[string]string{
		"skill://" + own + "/SKILL.md": "of " + own, "skill://" + own + "/a/b.md": "file of " + own, "skill://org/" + own + "-nested/SKILL.md": "nested of " + own,
		"skill://shared/SKILL.md": "shared of " + own, "skill://shared/only-" + own + ".md": "more of " + own,
	}
}

func skilled(name, era string, files map[string]string) spec.Spec {
	return played(name, spec.ShareSession, childtest.Script{Era: era, Skills: files})
}

// An asker makes a request on one of the fronts.
type asker func(method, params string) (result []byte, e *jsonrpc.Error)

// askers are clients of each era on each front, who have said nothing yet. caps is what they are told about capabilities.
var askers = map[string]func(t *testing.T, h *Hub) (ask asker, caps func() []byte){
	"stdio": func(t *testing.T, h *Hub) (asker, func() []byte) {
		c, _ := enter(t, h)
		return func(method, params string) ([]byte, *jsonrpc.Error) {
				resp, err := c.conn.Call(context.Background(), method, []byte(params))
				if err != nil {
					t.Fatal(err)
				}
				return resp.Result, resp.Err()
			}, func() []byte {
				said := c.raw("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
				_ = c.conn.Notify(t.Context(), "notifications/initialized")
				return jsonrpc.Get([]byte(said), "capabilities")
			}
	},
	"stdio modern": func(t *testing.T, h *Hub) (asker, func() []byte) {
		c, _ := enterModern(t, h, `{}`)
		return func(method, params string) ([]byte, *jsonrpc.Error) {
			resp := c.once(method, params)
			return resp.Result, resp.Err()
		}, func() []byte { return jsonrpc.Get([]byte(c.raw("server/discover", `{}`)), "capabilities") }
	},
	"http": func(t *testing.T, h *Hub) (asker, func() []byte) {
		c := bubble(t, h).initialize(`{}`)
		t.Cleanup(func() { c.do("DELETE", "", headerSession, c.session) })
		return func(method, params string) ([]byte, *jsonrpc.Error) {
				m := c.frames(c.request(method, params), nil)
				if m.Error != nil {
					return nil, jsonrpc.ParseError(m.Error)
				}
				return m.Result, nil
			}, func() []byte {
				r := c.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
				caps := jsonrpc.Get(jsonrpc.Get([]byte(body(t, r)), "result"), "capabilities")
				c.initialized()
				return caps
			}
	},
	"http modern": func(t *testing.T, h *Hub) (asker, func() []byte) {
		c := bubble(t, h).modern("")
		ask := func(method, params string) ([]byte, *jsonrpc.Error) {
			m, status := c.outcome(c.once(method, params), nil)
			if status != http.StatusOK && m.Error == nil {
				t.Errorf("%s: status %d", method, status)
			}
			if m.Error != nil {
				return nil, jsonrpc.ParseError(m.Error)
			}
			return m.Result, nil
		}
		return ask, func() []byte {
			result, _ := ask("server/discover", `{}`)
			return jsonrpc.Get(result, "capabilities")
		}
	},
}

type skillEntry struct {
	URI         string
	Frontmatter json.RawMessage
	Resources   []struct {
		URI, Digest string
		Size        int
	}
}

// TestSkills: what one server has, what two have, and what two have under the same URIs is listed, got, read and listed by folder, in
// both eras, on both fronts, by a client that comes first and by one that comes later. Every file is what its digest says.
func TestSkills(t *testing.T) {
	x, y := skillFiles("x"), skillFiles("y")
	for name, test := range map[string]struct {
		files []map[string]string
		want  []string // each of x, then each of y
	}{
		"one":      {[]map[string]string{x}, []string{"skill://org/x-nested", "skill://shared", "skill://x"}},
		"two":      {[]map[string]string{x, y}, []string{"skill://org/x-nested", "skill://one/shared", "skill://x", "skill://org/y-nested", "skill://two/shared", "skill://y"}},
		"two same": {[]map[string]string{x, x}, []string{"skill://one/org/x-nested", "skill://one/shared", "skill://one/x", "skill://two/org/x-nested", "skill://two/shared", "skill://two/x"}},
	} {
		for _, era := range []string{"", "modern"} {
			for front, enters := range askers {
				for _, warm := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, child %q, %s, warm %t", name, era, front, warm), func(t *testing.T) {
						var specs []spec.Spec
						for i, files := range test.files {
							specs = append(specs, skilled([]string{"one", "two"}[i], era, files))
						}
						play(t, specs, func(t *testing.T, h *Hub, _ *stage) {
							if warm {
								first, leave := enter(t, h)
								first.handshake(`{}`)
								first.raw("tools/list", `{}`)
								leave()
							}
							ask, caps := enters(t, h)
							synctest.Wait() // whose a URI is, is decided by the servers that are known
							if said := jsonrpc.Get(jsonrpc.Get(caps(), "extensions"), "io.modelcontextprotocol/skills"); string(said) != `{"directoryRead":true}` {
								t.Errorf("offered %s", said)
							}
							holdSkills(t, ask, test.want, test.files, strings.HasSuffix(front, "modern"))
						})
					})
				}
			}
		}
	}
}

func holdSkills(t *testing.T, ask asker, want []string, files []map[string]string, modern bool) {
	t.Helper()
	must := func(method, params string) []byte {
		t.Helper()
		result, e := ask(method, params)
		if e != nil {
			t.Errorf("%s %s: %v", method, params, e)
		}
		if modern && method != "resources/directory/read" && (jsonrpc.Get(result, "ttlMs") == nil || jsonrpc.Get(result, "cacheScope") == nil) {
			t.Errorf("%s does not say for how long: %s", method, result)
		}
		return result
	}
	var list struct{ Skills []skillEntry }
	if err := json.Unmarshal(must("skills/list", `{}`), &list); err != nil {
		t.Fatal(err)
	}
	var got []string
	listed := string(must("resources/list", `{}`))
	for i, s := range list.Skills {
		at := strings.TrimSuffix(s.URI, "/SKILL.md")
		got = append(got, at)
		name := at[strings.LastIndex(at, "/")+1:]
		if want := fmt.Sprintf(`{"name":%q,"description":"\u202eodd\u001b[1m","n":1.0}`, name); string(s.Frontmatter) != want {
			t.Errorf("%s: %s", s.URI, s.Frontmatter)
		}
		read := 0
		for _, f := range s.Resources {
			var r struct{ Contents []struct{ URI, Text string } }
			_ = json.Unmarshal(must("resources/read", fmt.Sprintf(`{"uri":%q}`, f.URI)), &r)
			if len(r.Contents) != 1 || r.Contents[0].URI != f.URI || len(r.Contents[0].Text) != f.Size || f.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(r.Contents[0].Text))) {
				t.Errorf("%+v is %+v", f, r)
				continue
			}
			if !strings.HasPrefix(f.URI, at+"/") || !strings.Contains(listed, fmt.Sprintf(`"uri":%q`, f.URI)) {
				t.Errorf("%s of %s is not listed", f.URI, at)
			}
			has := 0
			for _, text := range files[i/3] {
				if text == r.Contents[0].Text {
					has++
				}
			}
			read += has
		}
		if read != len(s.Resources) || read == 0 {
			t.Errorf("%s: %d of %d files are those of its server", s.URI, read, len(s.Resources))
		}
		var one struct{ Skill skillEntry }
		_ = json.Unmarshal(must("skills/get", fmt.Sprintf(`{"uri":%q}`, s.URI)), &one)
		if a, b := fmt.Sprint(one.Skill), fmt.Sprint(s); a != b {
			t.Errorf("got %s, listed %s", a, b)
		}
		folder := must("resources/directory/read", fmt.Sprintf(`{"uri":%q}`, at))
		if !strings.Contains(string(folder), fmt.Sprintf(`"uri":%q`, s.URI)) {
			t.Errorf("%s holds %s", at, folder)
		}
		if _, e := ask("resources/directory/read", fmt.Sprintf(`{"uri":%q}`, s.URI)); e == nil || e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("a file as a folder: %v", e)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	for _, uri := range []string{"skill://nobody/SKILL.md", "skill://one/nothing/SKILL.md"} {
		if _, e := ask("skills/get", fmt.Sprintf(`{"uri":%q}`, uri)); e == nil || e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("%s: %v", uri, e)
		}
	}
}

// TestNoSkills: a hub of which no server has any, which a client was not told about, does not know the method; one that was told before that
// was known gets an empty list.
func TestNoSkills(t *testing.T) {
	play(t, []spec.Spec{played("kid", spec.ShareSession, childtest.Script{})}, func(t *testing.T, h *Hub, _ *stage) {
		for front, enters := range askers {
			ask, caps := enters(t, h)
			told := strings.Contains(string(caps()), "io.modelcontextprotocol/skills")
			_, _ = ask("tools/list", `{}`)
			result, e := ask("skills/list", `{}`)
			if told && string(jsonrpc.Get(result, "skills")) != "[]" || !told && (e == nil || e.Code != jsonrpc.CodeMethodNotFound) {
				t.Errorf("%s, told %t: %s, %v", front, told, result, e)
			}
		}
		c, _ := enter(t, h)
		c.handshake(`{}`)
		c.raw("tools/list", `{}`)
		if e := c.refused("skills/list", `{}`); e.Code != jsonrpc.CodeMethodNotFound {
			t.Errorf("%v", e)
		}
	})
}

// TestSkillsOfADeniedServer: they are on no list, and are not given or read by their URIs. The control is the other server's.
func TestSkillsOfADeniedServer(t *testing.T) {
	for name, rule := range map[string]policy.Rule{
		"server": {Name: "no", Then: policy.Deny, Servers: []string{"one"}},
		"read":   {Name: "no", Then: policy.Deny, Servers: []string{"one"}, Tools: []string{"resources/read"}},
		"get":    {Name: "no", Then: policy.Deny, Servers: []string{"one"}, Tools: []string{"skills/get"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := under(t, testConfig(t, skilled("one", "", skillFiles("x")), skilled("two", "", skillFiles("y"))), policy.Policy{Rules: []policy.Rule{rule}})
			c, _ := enter(t, runHub(t, cfg))
			c.handshake(`{}`)
			list := c.raw("skills/list", `{}`)
			if strings.Contains(list, "skill://x/") || !strings.Contains(list, `"uri":"skill://y/SKILL.md"`) {
				t.Errorf("%s", list)
			}
			if name != "get" {
				_ = c.refused("resources/read", `{"uri":"skill://x/SKILL.md"}`)
			}
			if name != "read" {
				_ = c.refused("skills/get", `{"uri":"skill://x/SKILL.md"}`)
			}
			c.raw("skills/get", `{"uri":"skill://y/SKILL.md"}`)
		})
	}
}

// TestSkillsAreListedAnew: nothing announces them, so they are asked for again when their time is over.
func TestSkillsAreListedAnew(t *testing.T) {
	files := map[string]string{"skill://x/SKILL.md": "x"}
	play(t, []spec.Spec{skilled("one", "", files)}, func(t *testing.T, h *Hub, s *stage) {
		c, _ := enter(t, h)
		c.handshake(`{}`)
		c.raw("tools/list", `{}`)
		before := c.raw("skills/list", `{}`)
		time.Sleep(59 * time.Second)
		if n := s.asked("skills/list"); n != 1 {
			t.Errorf("%d times too early", n)
		}
		time.Sleep(2 * time.Second)
		if n := s.asked("skills/list"); n != 2 || c.raw("skills/list", `{}`) != before {
			t.Errorf("%d times in all", n)
		}
	})
}
