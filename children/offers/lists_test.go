package offers

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
)

// pages is a ChildConnection to a child that answers tools/list with one page after the other.
type pages struct {
	link.ChildConnection
	all   []string
	asked int
}

func (p *pages) Call(context.Context, string, ...[]byte) (*jsonrpc.Response, error) {
	p.asked++
	return &jsonrpc.Response{Result: []byte(p.all[p.asked-1])}, nil
}

func page(from, to int, cursor string) string {
	var b strings.Builder
	b.WriteString(`{"tools":[`)
	for i := from; i < to; i++ {
		if i > from {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool%d"}`, i)
	}
	b.WriteByte(']')
	if cursor != "" {
		b.WriteString(`,"nextCursor":"` + cursor + `"`)
	}
	return b.String() + "}"
}

// TestBoundsHoldWithinAPage: a list is cut at its bound in the middle of a page, and no more of the page is kept.
func TestBoundsHoldWithinAPage(t *testing.T) {
	t.Parallel()
	whole := []string{page(0, maxEntries-1, "a"), page(maxEntries-1, maxEntries, "")}
	for name, tc := range map[string]struct {
		all          []string
		asked, tools int
		cut          bool
	}{
		"one page of far more":    {[]string{page(0, 4*maxEntries, "")}, 1, maxEntries, true},
		"the second is too long":  {[]string{page(0, maxEntries-1, "a"), page(0, 9, "b"), page(0, 1, "")}, 2, maxEntries, true},
		"control: as many as may": {whole, 2, maxEntries, false},
		"control: a few":          {[]string{page(0, 3, "a"), page(3, 5, "")}, 2, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pages{all: tc.all}
			o, err := Read(t.Context(), p, &RawOffer{Capabilities: []byte(`{"tools":{}}`)}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(o.Entries[Tools]) != tc.tools || p.asked != tc.asked || string(o.Entries[Tools][0]) != `{"name":"tool0"}` {
				t.Errorf("%d tools after %d pages, the first is %s", len(o.Entries[Tools]), p.asked, o.Entries[Tools][0])
			}
			if cut := strings.Contains(strings.Join(o.Notes, " "), "does not end"); cut != tc.cut {
				t.Errorf("notes: %q", o.Notes)
			}
			if last := o.Entries[Tools][len(o.Entries[Tools])-1]; tc.cut && tc.asked == 1 && cap(last) > 2*len(last) {
				t.Errorf("the last entry keeps %d bytes of the page", cap(last))
			}
		})
	}
}

// answers is a ChildConnection to a child that answers some methods. What it does not know it refuses, or leaves without an answer.
type answers struct {
	link.ChildConnection
	by     map[string]string
	silent bool

	mu    sync.Mutex
	asked []string
}

func (a *answers) Call(ctx context.Context, method string, _ ...[]byte) (*jsonrpc.Response, error) {
	a.mu.Lock()
	a.asked = append(a.asked, method)
	a.mu.Unlock()
	switch result, ok := a.by[method]; {
	case ok:
		return &jsonrpc.Response{Result: []byte(result)}, nil
	case a.silent:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return &jsonrpc.Response{Error: []byte(`{"code":-32601,"message":"no such method"}`)}, nil
}

// TestListsThatAreNotDeclared: a child that declares no list has the ones that it answers. One that declares any list is asked for no
// other.
func TestListsThatAreNotDeclared(t *testing.T) {
	t.Parallel()
	some := map[string]string{"tools/list": `{"tools":[{"name":"a"}]}`, "resources/list": `{}`, "resources/templates/list": `{"resourceTemplates":[]}`}
	const all = "prompts/list resources/list resources/templates/list tools/list"
	for name, tc := range map[string]struct {
		declares, has, asked string
		silent               bool
	}{
		"nothing":          {`{}`, `{"resources":{},"tools":{}}`, all, false},
		"null":             {`null`, `{"resources":{},"tools":{}}`, all, false},
		"no capabilities":  {``, `{"resources":{},"tools":{}}`, all, true},
		"null for a list":  {`{"tools":null,"logging":{"x":1.0}}`, `{"logging":{"x":1.0},"resources":{},"tools":{}}`, all, true},
		"another one":      {`{"prompts":{}}`, `{"prompts":{}}`, "", false},
		"one of skills":    {`{"extensions":{"io.modelcontextprotocol/skills":{}}}`, `{"extensions":{"io.modelcontextprotocol/skills":{}}}`, "", false},
		"other extensions": {`{"extensions":{"x/y":{}}}`, `{"extensions":{"x/y":{}},"resources":{},"tools":{}}`, all, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				base, a, began := &RawOffer{Capabilities: []byte(tc.declares)}, &answers{by: some, silent: tc.silent}, time.Now()
				o := WithUndeclared(t.Context(), a, base)
				slices.Sort(a.asked)
				if got := strings.Join(a.asked, " "); string(o.Capabilities) != tc.has || got != tc.asked || string(base.Capabilities) != tc.declares {
					t.Errorf("it has %s after %q", o.Capabilities, got)
				}
				if took := time.Since(began); (took == undeclaredTime) != tc.silent {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// TestEmptyCursor: an empty cursor is one like any other in the version that says so, and the end in those before;
// a child that gives it again and again is listed no further.
func TestEmptyCursor(t *testing.T) {
	t.Parallel()
	modern := func(page string) string { return strings.Replace(page, "{", `{"resultType":"complete",`, 1) }
	empty := strings.Replace(page(0, 3, "x"), `"x"`, `""`, 1)
	for name, tc := range map[string]struct {
		all          []string
		asked, tools int
		note         string
	}{
		"2026-07-28":               {[]string{modern(empty), modern(page(3, 5, ""))}, 2, 5, ""},
		"2026-07-28, without end":  {[]string{modern(empty), modern(empty), modern(empty)}, 2, 6, "the same cursor twice"},
		"a version with handshake": {[]string{empty, page(3, 5, "")}, 1, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pages{all: tc.all}
			o, err := Read(t.Context(), p, &RawOffer{Capabilities: []byte(`{"tools":{}}`)}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(o.Notes, " "); len(o.Entries[Tools]) != tc.tools || p.asked != tc.asked || !strings.Contains(notes, tc.note) || tc.note == "" && notes != "" {
				t.Errorf("%d tools after %d pages: %s", len(o.Entries[Tools]), p.asked, notes)
			}
		})
	}
}

// endless is a ChildConnection to a child whose every page of every list has one more.
type endless struct {
	link.ChildConnection
	asked map[string]int
}

func (e *endless) Call(_ context.Context, method string, _ ...[]byte) (*jsonrpc.Response, error) {
	e.asked[method]++
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"tools":[],"skills":[{"uri":"skill://s%d/SKILL.md"}],"nextCursor":"%d"}`, e.asked[method], e.asked[method])}, nil
}

// TestSkillsAreAList: they are read like the lists of the protocol, where the extension is declared, and within the same bounds.
func TestSkillsAreAList(t *testing.T) {
	t.Parallel()
	for caps, want := range map[string]int{
		`{"tools":{},"extensions":{"io.modelcontextprotocol/skills":{}}}`:   maxPages,
		`{"tools":{},"extensions":{"io.modelcontextprotocol/skills":7}}`:    0,
		`{"tools":{},"experimental":{"io.modelcontextprotocol/skills":{}}}`: 0,
		`{"tools":{}}`: 0,
	} {
		e := &endless{nil, map[string]int{}}
		o, err := Read(t.Context(), e, &RawOffer{Capabilities: []byte(caps)}, AllLists&^1)
		if err != nil || len(o.Entries[Skills]) != want || e.asked["skills/list"] != want {
			t.Errorf("%s: %d after %d pages, %v", caps, len(o.Entries[Skills]), e.asked["skills/list"], err)
		}
		if ends := !strings.Contains(strings.Join(o.Notes, " "), "skills/list does not end"); ends != (want == 0) {
			t.Errorf("%s: %q", caps, o.Notes)
		}
		if which, _ := Unannounced(o); (which != 0) != (want > 0) {
			t.Errorf("%s: %b", caps, which)
		}
		c, _ := testCache(t)
		c.storeOffer(someDigest, o)
		if got := c.loadOffer(someDigest); !got.Equal(o) || len(got.Entries[Skills]) != want {
			t.Errorf("%d of them are kept", len(got.Entries[Skills]))
		}
	}
}

// refuses is a ChildConnection to a child that gives its prompts, and answers tools/list with an HTTP status.
type refuses struct {
	link.ChildConnection
	with link.StatusError
}

func (r refuses) Call(_ context.Context, method string, _ ...[]byte) (*jsonrpc.Response, error) {
	if method == Tools.List().Method {
		return nil, &r.with
	}
	return &jsonrpc.Response{Result: []byte(`{"prompts":[{"name":"p"}]}`)}, nil
}

// TestALoginIsNotOfAList: a child that asks for a login at one of its lists has not started. Another refusal, the control, is of that
// list alone.
func TestALoginIsNotOfAList(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{true, false} {
		o, err := Read(t.Context(), refuses{with: link.StatusError{Code: http.StatusUnauthorized, LogIn: asks}}, &RawOffer{Capabilities: []byte(`{"tools":{},"prompts":{}}`)}, AllLists)
		if link.AsksForLogin(err) != asks || !asks && (err != nil || len(o.Entries[Prompts]) != 1) {
			t.Errorf("asks for a login %v: %+v, %v", asks, o, err)
		}
	}
}
