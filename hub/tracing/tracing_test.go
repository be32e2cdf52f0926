package tracing

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcphub/e2e/seeds"
	"mcphub/internal/jsonrpc"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestOnlyContextsArePassedOn: what the specifications do not allow, or is longer than is passed on, is left out.
func TestOnlyContextsArePassedOn(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "x", parent[:54], parent + "-more", parent + "0", "ff" + parent[2:], strings.ToUpper(parent), "0g" + parent[2:],
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", parent[:53] + "0\n", "01" + parent[2:] + "0", "01" + parent[2:] + "-\n",
		"01" + parent[2:] + "-" + strings.Repeat("0", maxParent), " " + parent, parent[:3] + strings.Repeat("\x00", 32) + parent[35:],
	} {
		if got := Checked(bad, "a=1", "k=v"); got != (Context{Baggage: "k=v"}) {
			t.Errorf("traceparent %q: %+v, want the baggage alone", bad, got)
		}
	}
	for _, good := range []string{parent, parent[:54] + "0", "cc" + parent[2:], "01" + parent[2:] + "-what comes later"} {
		if got := Checked(good, "", ""); got.Parent != good {
			t.Errorf("traceparent %q is not passed on", good)
		}
	}
	for _, bad := range []string{
		"a", "=1", "A=1", "a=", "a=1=2", "a=\x01", "a=1\n", "é=1", "-a=1", "a=" + strings.Repeat("x", 257), strings.Repeat("a", 257) + "=1",
		strings.Repeat("a=1,", maxStates) + "a=1", "a=" + strings.Repeat("x", 250) + ",b=" + strings.Repeat("x", 250) + ",c=" + strings.Repeat("x", 20),
	} {
		if got := Checked(parent, bad, ""); got != (Context{Parent: parent}) {
			t.Errorf("tracestate %q: %+v, want the traceparent alone", bad, got)
		}
	}
	for _, good := range []string{"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a=1, b=2 ,\tc=3", "a=1,", "0tenant@vendor=x/y*"} {
		if got := Checked(parent, good, ""); got.State != good {
			t.Errorf("tracestate %q is not passed on", good)
		}
	}
	for _, bad := range []string{"k", "=v", " =v", "k=v\r\nX: y", "k=\"v\"", `k=\u0000`, "k=é", "k=v,", strings.Repeat("k=v,", maxItems) + "k=v", "k=" + strings.Repeat("v", maxBaggage)} {
		if got := Checked("", "a=1", bad); got != (Context{}) {
			t.Errorf("baggage %.40q: %+v, want nothing", bad, got)
		}
	}
	const good = "userId=alice,serverNode=DF%2028,isProduction=false;property;key=value"
	if got := Checked("", "", good); got.Baggage != good {
		t.Errorf("baggage %q is not passed on", good)
	}
}

func message(t interface{ Fatal(...any) }, params string) *jsonrpc.Message {
	m := &jsonrpc.Message{}
	if err := jsonrpc.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`), true, m); err != nil {
		t.Fatal(params, err)
	}
	return m
}

// edited returns what a child gets.
func edited(t interface{ Fatal(...any) }, params, token string, out Context) string {
	m := message(t, params)
	c := ParseMeta(m.Param("_meta"))
	var own []byte
	if token != "" {
		own = []byte(token)
	}
	return string(jsonrpc.Join(jsonrpc.Splice(m.Params, c.Edit(m.Params, jsonrpc.Get(m.Param("_meta"), "progressToken"), own, out))))
}

func TestWhatTheChildGets(t *testing.T) {
	t.Parallel()
	const other = "00-11111111111111111111111111111111-2222222222222222-00"
	for _, tc := range []struct {
		params, token string
		out           Context
		want          string
	}{
		{`{"name":"a"}`, "", Context{}, `{"name":"a"}`},
		{`{"name":"a"}`, "", Context{Parent: other}, `{"_meta":{"traceparent":"` + other + `"},"name":"a"}`},
		{"{ \n}", "", Context{Baggage: "k=v"}, "{\"_meta\":{\"baggage\":\"k=v\"} \n}"},
		{`{"name":"a","_meta":{}}`, "", Context{Parent: other}, `{"name":"a","_meta":{"traceparent":"` + other + `"}}`},
		{`{"_meta":{"x":1.0,"progressToken":7},"name":"a"}`, "99", Context{Parent: other, State: "a=1"}, `{"_meta":{"x":1.0,"progressToken":99,"traceparent":"` + other + `","tracestate":"a=1"},"name":"a"}`},
		{`{"_meta":{ "x":1.0 , "progressToken": 7 },"name":"a"}`, "99", Context{}, `{"_meta":{ "x":1.0 , "progressToken": 99 },"name":"a"}`},
		{`{"_meta":5,"name":"a"}`, "", Context{Parent: other}, `{"_meta":5,"name":"a"}`},
		{`{"_meta":{"traceparent":"` + parent + `","y":[ 1e2 ]},"name":"a"}`, "", Context{Parent: other}, `{"_meta":{"y":[ 1e2 ],"traceparent":"` + other + `"},"name":"a"}`},
		{`[1]`, "", Context{Parent: other}, `[1]`},
	} {
		if got := edited(t, tc.params, tc.token, tc.out); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.params, got, tc.want)
		}
	}
}

// TestWhatIsNoContextIsDropped: the one who passes on what came leaves valid bytes alone, and drops the rest.
func TestWhatIsNoContextIsDropped(t *testing.T) {
	t.Parallel()
	pass := func(params string) string {
		return edited(t, params, "", ParseMeta(message(t, params).Param("_meta")).Context)
	}
	for _, same := range []string{
		`{"_meta":{ "traceparent" : "` + parent + `", "tracestate":"a=1","baggage":"k=v","x":1.0}}`, `{"_meta":{"\u0074raceparent":"` + parent + `"}}`,
		`{"_meta":{"x":"\"traceparent\""}}`, `{"_meta":null}`, `{"_meta":{"Traceparent":"x"}}`,
	} {
		if got := pass(same); got != same {
			t.Errorf("%s became %s", same, got)
		}
	}
	for _, bad := range []string{`""`, `5`, `null`, `{}`, `"00-x"`, `"` + strings.ToUpper(parent) + `"`} {
		for _, name := range []string{Parent, `\u0074raceparent`} {
			params := `{"_meta":{"x":1,"` + name + `":` + bad + `,"tracestate":"a=1"}}`
			if got := pass(params); got != `{"_meta":{"x":1}}` {
				t.Errorf("%s became %s", params, got)
			}
		}
	}
}

// TestEditsChangeNothingElse: whatever _meta is, the child gets the context that it is to get, and every other member as it was.
func TestEditsChangeNothingElse(t *testing.T) {
	t.Parallel()
	value := rapid.SampledFrom([]string{`1.0`, `"x"`, `{"traceparent":"inner"}`, `[]`, `null`, `"` + parent + `"`, `"a=1"`})
	name := rapid.SampledFrom([]string{"traceparent", "tracestate", "baggage", "progressToken", "x", "trace", "é", `\u0062aggage`})
	seeds.Check(t, func(t *rapid.T) {
		meta := map[string]string{}
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			n := name.Draw(t, "name")
			if n == `\u0062aggage` && meta["baggage"] != "" || n == "baggage" && meta[`\u0062aggage`] != "" {
				continue
			}
			meta[n] = value.Draw(t, "value")
		}
		b := []string{}
		for _, n := range slices.Sorted(maps.Keys(meta)) {
			b = append(b, ` "`+n+`" : `+meta[n])
		}
		params := `{"name":"a","_meta":{` + strings.Join(b, ",") + `},"arguments":{"a": 1.0}}`
		out := rapid.SampledFrom([]Context{{}, {Parent: parent}, {Parent: parent, State: "b=2", Baggage: "k=v"}, {Baggage: "k=v"}}).Draw(t, "out")
		token := rapid.SampledFrom([]string{"", "42"}).Draw(t, "token")
		if meta["progressToken"] == "" {
			token = ""
		}
		var got struct {
			Name string                     `json:"name"`
			Args json.RawMessage            `json:"arguments"`
			Meta map[string]json.RawMessage `json:"_meta"`
		}
		text := edited(t, params, token, out)
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Name != "a" || string(got.Args) != `{"a": 1.0}` {
			t.Fatal(text, err)
		}
		if again := ParseMeta(message(t, text).Param("_meta")); again.Context != out || again.odd {
			t.Fatalf("%s carries %+v, want %+v", text, again.Context, out)
		}
		for n, v := range meta {
			want := v
			switch n {
			case "traceparent", "tracestate", "baggage", `\u0062aggage`:
				continue
			case "progressToken":
				if token != "" {
					want = token
				}
			}
			if string(got.Meta[n]) != want {
				t.Fatalf("%s: %s is %s, want %s", text, n, got.Meta[n], want)
			}
		}
	})
}

// TestHeadersAreCarried: what the headers of a request say goes into its _meta, if that says nothing.
func TestHeadersAreCarried(t *testing.T) {
	t.Parallel()
	header := Context{Parent: parent, State: "a=1", Baggage: "k=v"}
	for params, want := range map[string]string{
		`{"name":"a"}`: `{"_meta":{"traceparent":"` + parent + `","tracestate":"a=1","baggage":"k=v"},"name":"a"}`,
		`{"name":"a","_meta":{"traceparent":"00-11111111111111111111111111111111-2222222222222222-00"}}`: `{"name":"a","_meta":{"traceparent":"00-11111111111111111111111111111111-2222222222222222-00","baggage":"k=v"}}`,
		`{"_meta":{"traceparent":"x","baggage":"own=1"}}`:                                                `{"_meta":{"traceparent":"` + parent + `","tracestate":"a=1","baggage":"own=1"}}`,
	} {
		m, err := Carry(message(t, params), header)
		if err != nil || string(m.Params) != want || string(m.ID) != "1" {
			t.Errorf("%s: %s (%v), want %s", params, m.Params, err, want)
		}
	}
	if m := message(t, `{"name":"a"}`); true {
		if same, err := Carry(m, Context{}); same != m || err != nil {
			t.Error("a request was made anew of which nothing is to be changed")
		}
	}
}

// TestWithoutAContextNothingIsAllocated: as it is with nearly every call.
func TestWithoutAContextNothingIsAllocated(t *testing.T) {
	for _, params := range []string{`{"name":"a"}`, `{"name":"a","_meta":{"progressToken":1,"com.example/id":"x"}}`} {
		m := message(t, params)
		if n := testing.AllocsPerRun(100, func() {
			c := ParseMeta(m.Param("_meta"))
			if edit := c.Edit(m.Params, nil, nil, c.Context); edit.Old != nil {
				t.Error("an edit")
			}
		}); n != 0 {
			t.Errorf("%s: %.0f allocations", params, n)
		}
	}
}
