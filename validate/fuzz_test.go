package validate

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mcphub/e2e/bounds"
	"mcphub/validate/names"
	"mcphub/validate/policy"
	"mcphub/validate/strictjson"
)

// FuzzWalk: the strict walk never panics, accepts only what encoding/json accepts too, and then saw the same values.
func FuzzWalk(f *testing.F) {
	for _, a := range attacks {
		f.Add([]byte(a.args))
	}
	for _, s := range []string{``, `null`, `{}`, `[]`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `{"a":{"A":"\u0000"}}`, `{"a":1e999999}`,
		`{"a":"{\"b\":[1,{\"c\":\"/x\"}]}"}`, `{"":{"":{"":[[],{},"",null,true,-0.5e-3]}}}`, "\ufeff{}", `{"a":1}{}`, `{"ſ":1,"s":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		tr := strictjson.New(strictjson.DefaultDepth)
		defer tr.Free()
		err := tr.Parse(raw, strictjson.DefaultSize)
		var e *strictjson.Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			if _, ok := explain(e.Code); !ok {
				t.Fatalf("code %q is not explained", e.Code)
			}
			return
		}
		if len(strictjson.TrimJSONSpace(raw)) == 0 {
			return
		}
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("the walk accepts what encoding/json refuses: %v", err)
		}
		if want == nil {
			return
		}
		if got := tr.Value(0); !reflect.DeepEqual(got, want) {
			t.Fatalf("the walk saw %#v, want %#v", got, want)
		}
		for id := range tr.Nodes {
			p := tr.Pointer(int32(id))
			if back := tr.Lookup(p); back != int32(id) {
				t.Fatalf("pointer %q of value %d leads to %d", p, id, back)
			}
		}
	})
}

// FuzzDetect: detection and judgement never panic and never allow a call in which a value is plainly the outside file,
// under any key that is not free text; and what a call is rewritten to passes and stays.
func FuzzDetect(f *testing.F) {
	for _, a := range attacks {
		f.Add("k", a.args, "x")
	}
	f.Add("path", `{project}/a.txt`, `a,b;c:d /e "f" <g> 'h' $HOME ~root %2e%2e/ {a,b} [c] file:///x jar:file:/y!/z`)
	f.Add("command", `cat $'\x2f\057' "a\"b" $x$y$x$`, `SELECT $a$b$a$ 'x''y'`)
	w := newWorld(f)
	c := w.checker()
	tool := w.tool(c, "", anyTool)
	rootsView, where := w.view(), w.where()
	official := w.tool(c, fsServer, anyTool)
	w.must(os.Symlink(w.project, w.home+"/given"))
	w.roots = []string{w.home + "/given"}
	given := w.view()
	f.Fuzz(func(t *testing.T, key, a, b string) {
		if !utf8.ValidString(key) || !utf8.ValidString(a) || !utf8.ValidString(b) || len(a)+len(b) > 1<<14 {
			return
		}
		call := func(v map[string]any) *Verdict {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Skip()
			}
			runtime.LockOSThread() // spent is of the thread
			defer runtime.UnlockOSThread()
			begin := spent()
			s, err := c.Scan(tool, raw)
			if took := spent() - begin; took > bounds.Of(2*time.Second) {
				t.Fatalf("the scan took %v", took)
			}
			if err != nil {
				if _, ok := errors.AsType[*strictjson.Error](err); !ok {
					t.Fatalf("%T %v", err, err)
				}
				return &Verdict{}
			}
			begin = spent()
			v2 := c.Judge(s, where, rootsView)
			if took := spent() - begin; took > bounds.Of(4*time.Second) {
				t.Fatalf("judging %d findings took %v", len(s.found.Findings), took)
			}
			for _, f := range v2.Findings {
				if f.Decision == policy.Deny && v2.Decision == policy.Allow {
					t.Fatalf("a finding denies and the call passes: %+v", f)
				}
				if _, ok := explain(f.Code); !ok {
					t.Fatalf("code %q is not explained", f.Code)
				}
			}
			return v2
		}
		for _, v := range []map[string]any{
			{key: w.home + "/given/" + a, "path": "file://" + w.home + "/given/" + b, "source": a, "cwd": w.home + "/given"},
			{key: "file://" + w.project + "/" + a, "paths": []string{w.home + "/given/" + b, w.project + a}},
		} {
			if raw, err := json.Marshal(v); err == nil {
				judgeAndResend(t, c, official, raw, where, given)
			}
		}
		call(map[string]any{key: a, "args": []string{a, b}, "command": a + " " + b, "sql": a + b, "path": []string{a, b}, b: a})
		switch names.ClassOf(key) {
		case names.Content, names.Query, names.Shell:
			return
		}
		if strings.ContainsAny(key, `/\`) {
			return
		}
		if v := call(map[string]any{key: w.outside + "/secret.txt", "other": a}); v.Decision != policy.Deny {
			t.Fatalf("the outside file passes under key %q", key)
		}
		if v := call(map[string]any{key: []any{a, map[string]any{"x": "file://" + w.outside + "/secret.txt"}}}); v.Decision != policy.Deny {
			t.Fatalf("an outside URI passes below key %q", key)
		}
	})
}
