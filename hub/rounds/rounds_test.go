package rounds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcphub/internal/jsonrpc"
)

// A result asks for input by its type alone, however that is spelled.
func TestAsks(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]bool{
		`{"resultType":"input_required"}`:                    true,
		`{"resultType":"input_r\u0065quired"}`:               true,
		`{"result\u0054ype":"input_required"}`:               true,
		`{"resultType":"complete","x":"input_required"}`:     false,
		`{"x":{"resultType":"input_required"}}`:              false,
		`{"content":[{"type":"text","text":"\u0041"}]}`:      false,
		`{"resultType":["input_required"]}`:                  false,
		`{"content":[],"inputRequests":{},"requestState":1}`: false,
	} {
		if got := AsksForInput([]byte(result)); got != want {
			t.Errorf("%s: %t", result, got)
		}
	}
}

// What a child asks for is read whole, or refused for a reason.
func TestReadInput(t *testing.T) {
	t.Parallel()
	const elicit = `{"method":"elicitation/create","params":{"mode":"form"}}`
	many := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"%d":%s`, i, elicit))
		}
		return `"inputRequests":{` + strings.Join(all, ",") + `}`
	}
	state := func(n int) string { return `"requestState":"` + strings.Repeat("s", n-2) + `"` }
	for _, tc := range []struct {
		members string
		keys    []string
		refused string // a part of why; "": it is read
	}{
		{`"requestState":"s"`, nil, ""},
		{`"inputRequests":{"r":{"method":"roots/list"},"q":` + elicit + `}`, []string{"r", "q"}, ""},
		{many(maxInputs), slices.Collect(func(yield func(string) bool) {
			for i := range maxInputs {
				_ = yield(fmt.Sprint(i))
			}
		}), ""},
		{state(maxState), nil, ""},
		{`"x":1`, nil, "without saying what for"},
		{`"requestState":1`, nil, "no string"},
		{state(maxState + 1), nil, "more than 262144"},
		{`"inputRequests":[]`, nil, "no object"},
		{`"inputRequests":{"q":` + elicit + `,"q":` + elicit + `}`, nil, `the same key "q"`},
		{many(maxInputs + 1), nil, "more than 32 things"},
		{`"inputRequests":{"q":{"method":"tools/call","params":{}}}`, nil, `"tools/call", which is not for a server to ask`},
		{`"inputRequests":{"q":{"params":{}}}`, nil, "not for a server to ask"},
		{`"inputRequests":{"q":{"method":"elicitation/create","params":[]}}`, nil, "no object"},
		{`"inputRequests":{"q":{"method":"sampling/createMessage"}}`, nil, "no params"},
		{`"inputRequests":{"q":{"method":"elicitation/create","params":{"task":{}}}}`, nil, "a task"},
	} {
		asked, err := readInput([]byte(`{"resultType":"input_required",` + tc.members + `}`))
		name := tc.members[:min(len(tc.members), 100)]
		if tc.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s: %v, want %q", name, err, tc.refused)
			}
			continue
		}
		var keys []string
		for i := range asked.inputs {
			keys = append(keys, asked.inputs[i].key)
		}
		if err != nil || !slices.Equal(keys, tc.keys) {
			t.Errorf("%s: %q, %v", name, keys, err)
		}
	}
}

// A request is one with fixed params.
type request struct {
	RepeatedRequest
	params string
}

func (r request) Params() [][]byte { return [][]byte{[]byte(r.params)} }

// The answers and the state go beside the judged params. What a client puts there itself is refused.
func TestParamsOfARetry(t *testing.T) {
	t.Parallel()
	answers := &retry{responses: []byte(`{"q":{}}`), state: []byte(`"s"`)}
	for _, tc := range []struct {
		params string
		add    *retry
		want   string // "": it is refused
	}{
		{`{"a":1}`, nil, `{"a":1}`},
		{`{"a":1}`, answers, `{"a":1,"inputResponses":{"q":{}},"requestState":"s"}`},
		{`{}`, answers, `{"inputResponses":{"q":{}},"requestState":"s"}`},
		{`{"a":1}`, &retry{state: []byte(`"s"`)}, `{"a":1,"requestState":"s"}`},
		{`{"a":1,"inputResponses":{"q":1}}`, nil, ""},
		{`{"requestState":"s"}`, answers, ""},
		{`{"request\u0053tate":"s"}`, nil, ""},
		{`[]`, nil, ""},
	} {
		got, err := (&dialogue{RepeatedRequest: request{params: tc.params}}).paramsWith(tc.add)
		if string(got) != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %s, %v", tc.params, got, err)
		}
	}
}

// A client of the child's own era gets its questions as they stand. The roots are not asked
// for, and the state says under which keys they go.
func TestPassedOn(t *testing.T) {
	t.Parallel()
	const question = `{"method":"elicitation/create","params":{"z":1.0,"a":2}}`
	for members, want := range map[string]string{
		`"inputRequests":{"r 1":{"method":"roots/list"},"q":` + question + `},"requestState":"mine","_meta":{"x":1}`: `{"resultType":"input_required","inputRequests":{"q":` + question + `},"requestState":["mine","r 1"],"_meta":{"x":1}}`,
		`"inputRequests":{"q":` + question + `},"_meta":1`:                                                           `{"resultType":"input_required","inputRequests":{"q":` + question + `},"requestState":[null]}`,
	} {
		asked, err := readInput([]byte(`{"resultType":"input_required",` + members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		others := slices.DeleteFunc(slices.Clone(asked.inputs), func(in input) bool { return in.method == "roots/list" })
		if got := string(forwardedResult(asked, others)); got != want {
			t.Errorf("%s\nis passed as %s\nwant         %s", members, got, want)
		}
	}
}

// A question by an address has an id in the era of the handshake. One that has it already,
// and every other question, stays as it is.
func TestPushed(t *testing.T) {
	t.Parallel()
	for params, changed := range map[string]bool{
		`{"mode":"url","url":"https://x.example/"}`: true,
		`{"mode":"url","elicitationId":"own"}`:      false,
		`{"mode":"form"}`:                           false,
	} {
		m := (&input{method: "elicitation/create", params: []byte(params)}).questionMessage()
		if err := addElicitationID(m); err != nil {
			t.Fatal(err)
		}
		id, _ := jsonrpc.String(m.Param("elicitationId"))
		rest, kept := strings.CutPrefix(string(m.Params), `{"elicitationId":"`+id+`",`)
		if changed && (!kept || len(id) != 36 || "{"+rest != params) || !changed && string(m.Params) != params {
			t.Errorf("%s became %s", params, m.Params)
		}
	}
}
