package validate

import (
	"errors"
	"strings"
	"testing"

	"mcphub/validate/policy"
	"mcphub/validate/schema"
)

// uncompiled are definitions that schema generators write, and that no schema can be made of.
var uncompiled = map[string]string{
	"bad type":              `{"name":"a","inputSchema":{"type":"objct"}}`,
	"bad pattern":           `{"name":"a","inputSchema":{"properties":{"x":{"pattern":"("}}}}`,
	"http ref":              `{"name":"a","inputSchema":{"$ref":"http://127.0.0.1:1/x.json"}}`,
	"file ref":              `{"name":"a","inputSchema":{"$ref":"file:///etc/passwd"}}`,
	"relative ref":          `{"name":"a","inputSchema":{"$ref":"other.json"}}`,
	"dangling ref":          `{"name":"a","inputSchema":{"$ref":"#/$defs/x"}}`,
	"unknown dialect":       `{"name":"a","inputSchema":{"$schema":"https://example.com/my-dialect"}}`,
	"duplicate in it":       `{"name":"a","inputSchema":{"type":"object","type":"string"}}`,
	"exclusiveMinimum true": `{"name":"a","inputSchema":{"properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}}`,
	"required true":         `{"name":"a","inputSchema":{"properties":{"n":{"type":"string","required":true}}}}`,
	"components":            `{"name":"a","inputSchema":{"properties":{"n":{"$ref":"#/components/schemas/X"}}}}`,
	"no description":        `{"name":"a","inputSchema":{"type":"object","properties":{"n":{"type":"string","description":null}}}}`,
	"items a list":          `{"name":"a","inputSchema":{"properties":{"n":{"type":"array","items":[{"type":"string"}]}}}}`,
	"type any":              `{"name":"a","inputSchema":{"properties":{"n":{"type":"any"}}}}`,
	"a named group":         `{"name":"a","inputSchema":{"properties":{"n":{"pattern":"(?P<n>a)"}}}}`,
	"allOf of nothing":      `{"name":"a","inputSchema":{"allOf":[]}}`,
}

func TestToolErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	for name, def := range map[string]string{
		"not JSON":          `{`,
		"no name":           `{"inputSchema":{}}`,
		"array":             `[]`,
		"schema twice":      `{"name":"a","inputSchema":{},"inputSchema":{"type":"object"}}`,
		"schema a string":   `{"name":"a","inputSchema":"x"}`,
		"too deep a schema": `{"name":"a","inputSchema":` + strings.Repeat(`{"not":`, 300) + `{}` + strings.Repeat(`}`, 300) + `}`,
	} {
		if _, err := c.PrepareTool("child", "", []byte(def)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, def := range uncompiled {
		tool, err := c.PrepareTool("child", "", []byte(def))
		if err != nil || tool.SchemaError() == nil {
			t.Errorf("%s: %v, it is checked: %t", name, err, err == nil && tool.SchemaError() == nil)
			continue
		}
		// It is judged as one without a schema.
		for args, want := range map[string]policy.Decision{`{"path":"` + w.outside + `/x"}`: policy.Deny, `{"a":["` + w.outside + `/secret.txt"]}`: policy.Deny, `{"x":1}`: policy.Allow} {
			scan, err := c.Scan(tool, []byte(args))
			if err != nil {
				t.Errorf("%s: %s: %v", name, args, err)
				continue
			}
			if v := c.Judge(scan, w.where(), w.view()); v.Decision != want {
				t.Errorf("%s: %s: %v, want %v", name, args, v.Decision, want)
			}
		}
	}
	for name, def := range map[string]string{
		"no schema":        `{"name":"a"}`,
		"null":             `{"name":"a","inputSchema":null}`,
		"true":             `{"name":"a","inputSchema":true}`,
		"empty":            `{"name":"a","inputSchema":{}}`,
		"draft-07":         `{"name":"a","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{"type":"string"}},"properties":{"x":{"$ref":"#/definitions/x"}}}}`,
		"draft-04":         `{"name":"a","inputSchema":{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}}`,
		"2019-09":          `{"name":"a","inputSchema":{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object"}}`,
		"look-ahead":       `{"name":"a","inputSchema":{"properties":{"x":{"pattern":"^(?!/).*$"}}}}`,
		"unicode property": `{"name":"a","inputSchema":{"properties":{"x":{"pattern":"^\\p{L}+$"}}}}`,
		"half a surrogate": `{"name":"a","inputSchema":{"description":"\ud83d"}}`,
		"own id":           `{"name":"a","inputSchema":{"$id":"https://example.com/a.json","$defs":{"x":{}},"properties":{"x":{"$ref":"#/$defs/x"}}}}`,
		"recursive":        `{"name":"a","inputSchema":{"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}}`,
	} {
		tool, err := c.PrepareTool("child", "", []byte(def))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := c.Scan(tool, []byte(`{}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaStage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	deep := strings.Repeat("a", 40) + "!"
	for _, e := range []struct{ name, Schema, args, code, pointer, message string }{
		{"missing", `{"type":"object","required":["path"]}`, `{}`, schema.CodeViolation, "", `missing "path"`},
		{"type", `{"properties":{"a":{"properties":{"b":{"type":"string"}}}}}`, `{"a":{"b":5}}`, schema.CodeViolation, "/a/b", "got number, want string"},
		{"element", `{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",5]}`, schema.CodeViolation, "/a/1", "got number"},
		{"escaped pointer", `{"properties":{"a/b":{"type":"string"}}}`, `{"a/b":5}`, schema.CodeViolation, "/a~1b", "got number"},
		{"unknown", `{"properties":{"a":{}},"additionalProperties":false}`, `{"zz":1}`, schema.CodeViolation, "", `unknown "zz"`},
		{"enum", `{"properties":{"a":{"enum":["x","y"]}}}`, `{"a":"z"}`, schema.CodeViolation, "/a", "'x', 'y'"},
		{"pattern", `{"properties":{"a":{"pattern":"^(?!/)"}}}`, `{"a":"/x"}`, schema.CodeViolation, "/a", "pattern"},
		{"anyOf", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, schema.CodeViolation, "/a", "got number"},
		{"big number", `{"properties":{"a":{"const":9007199254740993}}}`, `{"a":9007199254740992}`, schema.CodeViolation, "/a", ""},
		{"false schema", `false`, `{}`, schema.CodeViolation, "", ""},
		{"catastrophic pattern", `{"properties":{"a":{"pattern":"^(a+)+$"}}}`, `{"a":"` + deep + `"}`, schema.CodeBudget, "", "costs more"},
		{"catastrophic pattern turned round", `{"properties":{"a":{"not":{"pattern":"^(a+)+$"}}}}`, `{"a":"` + deep + `"}`, schema.CodeBudget, "", "costs more"},
		{"exponential references", `{"$defs":{"n":{"items":{"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}},"properties":{"a":{"$ref":"#/$defs/n"}}}`,
			`{"a":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`, schema.CodeBudget, "", "costs more"},
		{"format is an annotation", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"email"},"b":{"format":"regex"}}}`, `{"a":"no","b":"("}`, "", "", ""},
		{"content is an annotation", `{"properties":{"a":{"contentEncoding":"base64","contentMediaType":"application/json"}}}`, `{"a":"***"}`, "", "", ""},
		{"exact number", `{"properties":{"a":{"const":9007199254740993}}}`, `{"a":9007199254740993}`, "", "", ""},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true,"enum":["x"]},"default":{"type":["integer"],"nullable":true}}}`, `{"a":null,"default":null}`, "", "", ""},
		{"not nullable", `{"properties":{"a":{"type":"string","nullable":false}}}`, `{"a":null}`, schema.CodeViolation, "/a", "got null"},
		{"two spellings, both declared", `{"properties":{"-a":{"type":"boolean"},"-A":{"type":"number"}}}`, `{"-a":true,"-A":3}`, "", "", ""},
	} {
		tool, err := c.PrepareTool("child", "", []byte(`{"name":"x","inputSchema":`+e.Schema+`}`))
		if err != nil {
			t.Errorf("%s: %v", e.name, err)
			continue
		}
		_, err = c.Scan(tool, []byte(e.args))
		if e.code == "" {
			if err != nil {
				t.Errorf("%s: %v", e.name, err)
			}
			continue
		}
		var se *schema.Error
		if !errors.As(err, &se) {
			t.Errorf("%s: got %v, want a SchemaError", e.name, err)
			continue
		}
		if se.Code != e.code || se.Pointer != e.pointer || !strings.Contains(se.Message, e.message) {
			t.Errorf("%s: %s at %q: %s; want %s at %q: %s", e.name, se.Code, se.Pointer, se.Message, e.code, e.pointer, e.message)
		}
	}
}

// TestSchemaErrorsAreTheSameEveryTime: the members of an object have no order, and what is said about them has one.
func TestSchemaErrorsAreTheSameEveryTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	for _, e := range []struct{ Schema, args, pointer, message string }{
		{`{"additionalProperties":false}`, `{"d":1,"c":1,"b":1,"a":1}`, "", `unknown "a", "b", "c", "d"`},
		{`{"additionalProperties":{"type":"string"}}`, `{"d":1,"c":1,"b":1,"a":1}`, "/a", "got number, want string"},
		{`{"dependentRequired":{"a":["x"],"b":["y"],"c":["z"]}}`, `{"a":1,"b":1,"c":1}`, "", "properties 'x' required, if 'a' exists; or properties 'y' required, if 'b' exists; or properties 'z' required, if 'c' exists"},
	} {
		tool, err := c.PrepareTool("child", "", []byte(`{"name":"x","inputSchema":`+e.Schema+`}`))
		w.must(err)
		for range 50 { // an order by chance would be the wrong one of six at least
			_, err = c.Scan(tool, []byte(e.args))
			var se *schema.Error
			if !errors.As(err, &se) || se.Pointer != e.pointer || se.Message != e.message {
				t.Fatalf("%s: %v, want %s at %q", e.args, err, e.message, e.pointer)
			}
		}
	}
}

// TestRootsWithBlanks: what separates the parts of a list may stand in the name of a root. The controls are lists.
func TestRootsWithBlanks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"My Project", "a, b", "x;y", "p:q", "My Big Project"} {
		w := newWorld(t)
		root := w.home + "/" + name
		w.must(mkdir(root + "/sub dir"))
		w.must(mkdir(w.home + "/My"))
		w.roots = []string{root}
		c := w.checker()
		for args, want := range map[string]policy.Decision{
			`{"path":"` + root + `/a.txt"}`:                           policy.Allow,
			`{"path":"` + root + `"}`:                                 policy.Allow,
			`{"paths":["` + root + `/sub dir/new file.txt"]}`:         policy.Allow,
			`{"path":"` + root + `/a.txt /etc/passwd"}`:               policy.Deny,
			`{"path":"` + root + `/a.txt,/etc/passwd"}`:               policy.Deny,
			`{"path":"` + root + `/../secret.txt"}`:                   policy.Deny,
			`{"path":"` + root + `/a.txt ` + w.home + `/My"}`:         policy.Deny,
			`{"path":"` + root + `/a.txt ../../x"}`:                   policy.Deny,
			`{"path":"` + root + `s/a.txt"}`:                          policy.Deny,
			`{"path":"` + w.home + `/My/secret.txt"}`:                 policy.Deny,
			`{"path":"` + w.home + `/My other/secret.txt"}`:           policy.Deny,
			`{"path":"` + w.home + `/My ` + root + `/a.txt"}`:         policy.Deny,
			`{"path":"` + w.home + `/outside,` + root + `/a.txt"}`:    policy.Deny,
			`{"path":"/etc/passwd ` + root + `/a.txt"}`:               policy.Deny,
			`{"path":"` + root + `/a.txt ` + w.outside + `/sub dir"}`: policy.Deny,
		} {
			s, err := c.Scan(w.tool(c, "", anyTool), []byte(args))
			w.must(err)
			if v := c.Judge(s, w.where(), w.view()); v.Decision != want {
				t.Errorf("%s: %v, want %v: %+v", args, v.Decision, want, v.Deciding)
			}
		}
	}
}

// A call that the rules deny whatever its arguments are is denied, and not told which arguments there are. The control is a call
// that some rule may allow.
func TestADeniedToolNamesNoArgument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deny := policy.Rule{Name: "never", Then: policy.Deny, Tools: []string{"x"}}
	for _, e := range []struct {
		rules  []policy.Rule
		denied bool
	}{
		{nil, false},
		{[]policy.Rule{{Name: "some", Then: policy.Allow, Paths: within(w.home)}, deny}, false},
		{[]policy.Rule{{Name: "ask", Then: policy.Escalate, Tools: []string{"x"}}}, false},
		{[]policy.Rule{deny}, true},
	} {
		c, err := NewChecker(Config{Children: []ChildConfig{{Name: "child", Command: "x"}}, Home: w.home, Getenv: w.getenv, Policy: policy.Policy{Rules: e.rules}})
		w.must(err)
		tool, err := c.PrepareTool("child", "x", []byte(`{"name":"x","inputSchema":{"type":"object","required":["hidden"]}}`))
		w.must(err)
		for _, args := range []string{`{}`, `{"a":1,"a":2}`, `{`} {
			s, err := c.Scan(tool, []byte(args))
			if e.denied != (err == nil) {
				t.Errorf("%+v: %s: %v", e.rules, args, err)
			}
			if err != nil {
				continue
			}
			if v := c.Judge(s, CallContext{}, w.view()); v.Decision != policy.Deny || v.Rule != "never" || !s.NeedsJudge() {
				t.Errorf("%s: %v by %q", args, v.Decision, v.Rule)
			}
		}
	}
}
