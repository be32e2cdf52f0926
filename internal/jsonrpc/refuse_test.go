package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcphub/e2e/bounds"
)

// Whatever a strict peer sends, it gets the right refusal, and the Conn goes on.
func TestStrictRefusals(t *testing.T) {
	t.Parallel()
	const none = "none"
	for _, tc := range []struct {
		name, line, id string
		code           int64
	}{
		{"not JSON", `hello`, "null", CodeParse},
		{"truncated", `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":`, "null", CodeParse},
		{"two byte order marks", "\xef\xbb\xbf\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":7,"method":"x"}`, "null", CodeParse},
		{"comment", `{"jsonrpc":"2.0","id":7,"method":"x"} // y`, "null", CodeParse},
		{"trailing comma", `{"jsonrpc":"2.0","id":7,"method":"x",}`, "null", CodeParse},
		{"two values", `{"jsonrpc":"2.0","id":7,"method":"x"}{"jsonrpc":"2.0","id":8,"method":"x"}`, "null", CodeParse},
		{"NaN", `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":NaN}}`, "null", CodeParse},
		{"batch", `[{"jsonrpc":"2.0","id":7,"method":"x"}]`, "null", CodeInvalidRequest},
		{"string", `"x"`, "null", CodeInvalidRequest},
		{"number", `12`, "null", CodeInvalidRequest},
		{"empty", `{}`, "null", CodeInvalidRequest},
		{"empty with version", `{"jsonrpc":"2.0"}`, "null", CodeInvalidRequest},
		{"neither", `{"jsonrpc":"2.0","id":7}`, "7", CodeInvalidRequest},
		{"no version", `{"id":7,"method":"x"}`, "7", CodeInvalidRequest},
		{"version 1.0", `{"jsonrpc":"1.0","id":7,"method":"x"}`, "7", CodeInvalidRequest},
		{"version number", `{"jsonrpc":2.0,"id":7,"method":"x"}`, "7", CodeInvalidRequest},
		{"method number", `{"jsonrpc":"2.0","id":7,"method":5}`, "7", CodeInvalidRequest},
		{"method empty", `{"jsonrpc":"2.0","id":7,"method":""}`, "7", CodeInvalidRequest},
		{"request and answer", `{"jsonrpc":"2.0","id":7,"method":"x","result":1}`, "7", CodeInvalidRequest},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"x"}`, "null", CodeInvalidRequest},
		{"id bool", `{"jsonrpc":"2.0","id":true,"method":"x"}`, "null", CodeInvalidRequest},
		{"id object", `{"jsonrpc":"2.0","id":{"a":1},"method":"x"}`, "null", CodeInvalidRequest},
		{"id too long", `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", DefaultIDLimit) + `","method":"x"}`, `"` + strings.Repeat("i", DefaultIDLimit) + `"`, CodeInvalidRequest},
		{"duplicate in the envelope", `{"jsonrpc":"2.0","id":7,"method":"x","method":"y"}`, "7", CodeInvalidParams},
		{"duplicate by escape", `{"jsonrpc":"2.0","id":7,"method":"x","\u006dethod":"y"}`, "7", CodeInvalidParams},
		{"duplicate id", `{"jsonrpc":"2.0","id":7,"id":8,"method":"x"}`, "null", CodeInvalidParams},
		{"duplicate foreign member", `{"jsonrpc":"2.0","id":7,"method":"x","z":1,"z":2}`, "7", CodeInvalidParams},
		{"duplicate in params", `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1,"a":2}}`, "7", CodeInvalidParams},
		{"duplicate deep", `{"jsonrpc":"2.0","params":{"a":[0,{"b":{"c":1,"\u0063":2}}]},"id":"s","method":"x"}`, `"s"`, CodeInvalidParams},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"a\":\"\xff\"}}", "7", CodeInvalidParams},
		{"bad UTF-8 in a name", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"\xc0\xaf\":1}}", "7", CodeInvalidParams},
		{"lone surrogate", `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"\ud800"}}`, "7", CodeInvalidParams},
		{"reversed surrogates", `{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"\udc00\ud800"}}`, "7", CodeInvalidParams},
		{"too deep", `{"jsonrpc":"2.0","id":7,"method":"x","params":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001) + `}`, "7", CodeInvalidParams},
		{"too many members", `{"jsonrpc":"2.0","id":7,"method":"x","params":{` + members(maxMembers+1) + `}}`, "7", CodeInvalidParams},
		{"too long", `{"jsonrpc":"2.0","id":"long","method":"x","params":"` + strings.Repeat("x", 128<<10) + `"}`, `"long"`, CodeInvalidParams},
		{"too long, id behind", `{"method":"x","params":{"id":1,"t":"` + strings.Repeat("x", 256<<10) + `"},"id":7,"jsonrpc":"2.0"}`, "7", CodeInvalidParams},
		{"too long noise", strings.Repeat("x", 256<<10), "null", CodeInvalidRequest},
		// What is no request gets no answer at all.
		{"too long notification", `{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("x", 128<<10) + `"}`, none, 0},
		{"bad notification", `{"jsonrpc":"2.0","method":"x","params":{"a":1,"a":2}}`, none, 0},
		{"unasked answer", `{"jsonrpc":"2.0","id":77,"result":1}`, none, 0},
		{"unasked broken answer", `{"jsonrpc":"2.0","id":77,"result":1,"result":2}`, none, 0},
		{"answer without id", `{"jsonrpc":"2.0","result":1}`, none, 0},
		{"error without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}`, none, 0},
		{"error for id null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`, none, 0},
		{"answer of another version", `{"jsonrpc":"1.0","id":77,"result":1}`, none, 0},
		{"blank", "", none, 0},
		{"blanks", " \t\r", none, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := linkOS(t, &handler{request: func(context.Context, *Message) Answer {
				t.Error("the handler was called")
				return Answer{}
			}, notify: func(*Message) { t.Error("the handler was called") }}, ConnOptions{Strict: true, FrameLimit: 64 << 10})
			p.send(tc.line)
			if tc.id != none {
				p.wantError(tc.id, tc.code)
			}
			p.nothing()
		})
	}
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":0`, i)
	}
	return b.String()[1:]
}

// An answer that cannot be read ends its call at once; nothing else does.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	const ends, answers, goesOn = "ends", "answers", "goes on"
	long := strings.Repeat("x", 256<<10)
	for _, tc := range []struct {
		name, line      string
		lenient, strict string
	}{
		{"fine", `{"jsonrpc":"2.0","id":1,"result":{}}`, answers, answers},
		{"1.0", `{"jsonrpc":"2.0","id":1.0,"result":{}}`, answers, goesOn},
		{"1e0", `{"jsonrpc":"2.0","id":1e0,"result":{}}`, answers, goesOn},
		{"string id", `{"jsonrpc":"2.0","id":"1","result":{}}`, answers, goesOn},
		{"string id, escaped", `{"jsonrpc":"2.0","id":"\u0031","result":{}}`, goesOn, goesOn},
		{"string id with a zero", `{"jsonrpc":"2.0","id":"01","result":{}}`, goesOn, goesOn},
		{"string id with a blank", `{"jsonrpc":"2.0","id":" 1","result":{}}`, goesOn, goesOn},
		{"string id as floating point", `{"jsonrpc":"2.0","id":"1.0","result":{}}`, goesOn, goesOn},
		{"string id with a sign", `{"jsonrpc":"2.0","id":"+1","result":{}}`, goesOn, goesOn},
		{"string id of another call", `{"jsonrpc":"2.0","id":"2","result":{}}`, goesOn, goesOn},
		{"string id of a broken line", `{"jsonrpc":"1.0","id":"1","result":{}}`, ends, goesOn},
		{"other id", `{"jsonrpc":"2.0","id":1.5,"result":{}}`, goesOn, goesOn},
		{"no version", `{"id":1,"result":{}}`, answers, ends},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,"result":{}}`, ends, ends},
		{"null error beside", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, answers, ends},
		{"both", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, ends, ends},
		{"neither", `{"jsonrpc":"2.0","id":1}`, goesOn, ends},
		{"a line of a log that is JSON", `{"level":30,"id":1,"msg":"called"}`, goesOn, goesOn},
		{"duplicate result", `{"jsonrpc":"2.0","id":1,"result":{},"result":[]}`, ends, ends},
		{"duplicate below", `{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`, answers, ends},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}", answers, ends},
		{"lone surrogate", `{"jsonrpc":"2.0","id":1,"result":"\udfff"}`, answers, ends},
		{"truncated", `{"jsonrpc":"2.0","id":1,"result":{"text":"abc`, ends, ends},
		{"bare word", `{"jsonrpc":"2.0","result":NaN,"id":1}`, ends, ends},
		{"log in front", `INFO: "ready {"jsonrpc":"2.0","id":1,"result":{}}`, ends, ends},
		{"batch", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, ends, goesOn},
		{"too long", `{"jsonrpc":"2.0","id":1,"result":"` + long + `"}`, ends, ends},
		{"too long, id last", `{"result":{"id":5,"t":"` + long + `"},"jsonrpc":"2.0","id":1}`, ends, ends},
		{"broken request", `{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"a":`, goesOn, goesOn},
		{"broken request, method first", `{"method":"roots/list","params":{"a":"b"c"},"jsonrpc":"2.0","id":1}`, goesOn, goesOn},
		{"broken request, params first", `{"params":{"a":"b"c"},"jsonrpc":"2.0","id":1,"method":"roots/list"}`, goesOn, goesOn},
		{"request of a bad shape", `{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}`, goesOn, goesOn},
		{"too long request", `{"jsonrpc":"2.0","id":1,"method":"x","params":"` + long + `"}`, goesOn, goesOn},
		{"id below", `{"jsonrpc":"2.0","result":{"id":1},"x":`, goesOn, goesOn},
		{"a log line", `{"level":"info","id":1} and so on`, goesOn, goesOn},
	} {
		for _, strict := range []bool{false, true} {
			want := tc.lenient
			if strict {
				want = tc.strict
			}
			t.Run(fmt.Sprintf("%s/strict=%v", tc.name, strict), func(t *testing.T) {
				p := linkOS(t, &handler{}, ConnOptions{Strict: strict, FrameLimit: 64 << 10})
				got := p.call(t.Context(), "x")
				p.want(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
				p.send(tc.line)
				var broken *BrokenError
				switch want {
				case answers:
					if r := <-got; r.err != nil {
						t.Fatalf("got %v", r.err)
					}
				case ends:
					if r := <-got; !errors.As(r.err, &broken) {
						t.Fatalf("got %+v, %v, want a BrokenError", r.resp, r.err)
					}
					if s := p.conn.Stats(); s.Broken != 1 {
						t.Fatalf("%+v", s)
					}
				default:
					p.send(`{"jsonrpc":"2.0","id":1,"result":"late"}`)
					if r := <-got; r.err != nil || string(r.resp.Result) != `"late"` {
						t.Fatalf("got %+v, %v: the call was ended", r.resp, r.err)
					}
				}
			})
		}
	}
}

// A child's request that cannot be read is refused, so that it does not wait.
func TestLenientRefusals(t *testing.T) {
	t.Parallel()
	p := linkOS(t, &handler{}, ConnOptions{FrameLimit: 1 << 10})
	p.send(`{"jsonrpc":"2.0","id":7,"method":"x","params":}`)
	p.wantError("7", CodeParse)
	p.send(`{"jsonrpc":"2.0","id":"a","method":"x","method":"y"}`)
	p.wantError(`"a"`, CodeInvalidParams)
	p.send(`{"jsonrpc":"2.0","id":8,"method":"x","params":"` + strings.Repeat("x", 1<<10) + `"}`)
	p.wantError("8", CodeInvalidParams)
	for _, line := range []string{`garbage`, `{}`, `[]`, `{"jsonrpc":"2.0","id":null,"result":1}`, `{"jsonrpc":"2.0","method":"x","params":}`, strings.Repeat("x", 2<<10)} {
		p.send(line) // skipped
	}
	p.nothing()
	if s := p.conn.Stats(); s.Skipped != 6+3+1 || s.Broken != 0 {
		t.Fatalf("%+v", s)
	}
}

// TestALineThatIsTooLongAndHasNoEnd: a peer that sends it as its first line, and then ends its stream, gets its refusal. Nothing panics.
func TestALineThatIsTooLongAndHasNoEnd(t *testing.T) {
	for _, strict := range []bool{true, false} {
		p := linkOS(t, &handler{}, ConnOptions{Strict: strict, FrameLimit: 1 << 10, Grace: bounds.Patience})
		if _, err := p.in.Write([]byte(`{"jsonrpc":"2.0","id":"long","method":"x","params":"` + strings.Repeat("x", 1<<20))); err != nil {
			t.Fatal(err)
		}
		if err := p.in.Close(); err != nil {
			t.Fatal(err)
		}
		p.wantError(`"long"`, CodeInvalidParams)
		if err := <-p.err; err != nil {
			t.Error(err)
		}
	}
}
