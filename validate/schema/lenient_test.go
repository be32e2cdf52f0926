package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"mcphub/validate/budget"
	"mcphub/validate/strictjson"
)

// decode reads JSON as the strict walk does.
func decode(t testing.TB, raw string) any {
	t.Helper()
	tr := strictjson.New(strictjson.DefaultDepth)
	defer tr.Free()
	if err := tr.Walk([]byte(raw), -1, 0); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return tr.Value(0)
}

func compiled(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile(decode(t, raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s
}

func TestLenientReading(t *testing.T) {
	t.Parallel()
	const (
		typed = `{"type":"object","properties":{"i":{"type":"integer","minimum":1},"n":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},"l":{"type":"array","items":{"type":"integer"}},
			"o":{"type":"object","properties":{"i":{"type":"integer"},"s":{"type":"string"}},"required":["i"],"additionalProperties":false},
			"list":{"type":"array","items":{"type":"object","properties":{"i":{"type":"integer"}},"additionalProperties":false}},
			"e":{"enum":[1,true,"x"]},"c":{"const":7},"m":{"enum":["a","b"]},"any":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["s"],"additionalProperties":false}`
		either = `{"oneOf":[{"properties":{"kind":{"const":"a"},"n":{"type":"integer"}},"required":["kind"],"additionalProperties":false},
			{"properties":{"kind":{"const":"b"},"x":{"type":"string"}},"required":["kind"],"additionalProperties":false}]}`
	)
	for name, tc := range map[string]struct {
		schema, args string
		read         string // "" if they are refused
		count        int
	}{
		"as it stands":                   {typed, `{"s":"","i":5}`, `{"s":"","i":5}`, 0},
		"an integer":                     {typed, `{"s":"","i":"5"}`, `{"s":"","i":5}`, 1},
		"a negative one below a minimum": {typed, `{"s":"","i":"-5"}`, "", 0},
		"a fraction for an integer":      {typed, `{"s":"","i":"5.5"}`, "", 0},
		"a number":                       {typed, `{"s":"","n":"-0.5e-3"}`, `{"s":"","n":-0.5e-3}`, 1},
		"booleans":                       {typed, `{"s":"","b":"true"}`, `{"s":"","b":true}`, 1},
		"false":                          {typed, `{"s":"","b":"false"}`, `{"s":"","b":false}`, 1},
		"a word for a boolean":           {typed, `{"s":"","b":"yes"}`, "", 0},
		"Python's word":                  {typed, `{"s":"","b":"True"}`, "", 0},
		"a number for a boolean":         {typed, `{"s":"","b":"1"}`, "", 0},
		"a real number for a boolean":    {typed, `{"s":"","b":1}`, "", 0},
		"a number for a string":          {typed, `{"s":5}`, "", 0},
		"a list":                         {typed, `{"s":"","l":"[1, 2]"}`, `{"s":"","l":[1,2]}`, 1},
		"a list with blanks around":      {typed, `{"s":"","l":"\n[1]\n"}`, `{"s":"","l":[1]}`, 1},
		"elements":                       {typed, `{"s":"","l":["1",2,"3"]}`, `{"s":"","l":[1,2,3]}`, 2},
		"an object":                      {typed, `{"s":"","o":"{\"i\":1}"}`, `{"s":"","o":{"i":1}}`, 1},
		"an object for a list":           {typed, `{"s":"","l":"{}"}`, "", 0},
		"a list for a number":            {typed, `{"s":"","i":"[1]"}`, "", 0},
		"a string in a string":           {typed, `{"s":"","i":"\"5\""}`, "", 0},
		"null in a string":               {typed, `{"s":"","i":"null"}`, "", 0},
		"nested leniency":                {typed, `{"s":"","l":"[\"1\"]"}`, "", 0},
		"null inside":                    {typed, `{"s":"","o":"{\"i\":1,\"s\":null}"}`, "", 0},
		"a member too many inside":       {typed, `{"s":"","o":"{\"i\":1,\"x\":1}"}`, "", 0},
		"twice in a string":              {typed, `{"s":"","o":"\"{\\\"i\\\":1}\""}`, "", 0},
		"duplicate names":                {typed, `{"s":"","o":"{\"i\":1,\"i\":2}"}`, "", 0},
		"escaped duplicate names":        {typed, `{"s":"","o":"{\"i\":1,\"\\u0069\":2}"}`, "", 0},
		"NUL in a name":                  {`{"properties":{"o":{"type":"object"}}}`, `{"o":"{\"a\\u0000\":1}"}`, "", 0},
		"half a surrogate":               {`{"properties":{"o":{"type":"object"}}}`, `{"o":"{\"a\":\"\\ud800\"}"}`, "", 0},
		"a trailing comma":               {typed, `{"s":"","l":"[1,]"}`, "", 0},
		"single quotes":                  {typed, `{"s":"","o":"{'i':1}"}`, "", 0},
		"a comment":                      {typed, `{"s":"","l":"[1 /* 2 */]"}`, "", 0},
		"two documents":                  {typed, `{"s":"","l":"[1][2]"}`, "", 0},
		"a leading zero":                 {typed, `{"s":"","i":"05"}`, "", 0},
		"a plus":                         {typed, `{"s":"","i":"+5"}`, "", 0},
		"blanks around a number":         {typed, `{"s":"","i":" 5"}`, "", 0},
		"a bare point":                   {typed, `{"s":"","n":"5."}`, "", 0},
		"hexadecimal":                    {typed, `{"s":"","i":"0x5"}`, "", 0},
		"no number":                      {typed, `{"s":"","n":"NaN"}`, "", 0},
		"infinity":                       {typed, `{"s":"","n":"Infinity"}`, "", 0},
		"digits of another script":       {typed, `{"s":"","i":"٥"}`, "", 0},
		"an exponent too large":          {typed, `{"s":"","n":"1e99999"}`, "", 0},
		"nothing":                        {typed, `{"s":"","i":""}`, "", 0},
		"null":                           {typed, `{"s":"","i":null,"m":null}`, `{"s":""}`, 2},
		"null that is required":          {typed, `{"s":null}`, "", 0},
		"null that fits":                 {typed, `{"s":"","any":null}`, `{"s":"","any":null}`, 0},
		"null as an element":             {typed, `{"s":"","l":[null]}`, "", 0},
		"null of a map":                  {`{"additionalProperties":{"type":"string"}}`, `{"x":null}`, "", 0},
		"null below":                     {typed, `{"s":"","o":{"i":1,"s":null}}`, `{"s":"","o":{"i":1}}`, 1},
		"null that is required below":    {typed, `{"s":"","o":{"i":null}}`, "", 0},
		"a member too many":              {typed, `{"s":"","x":[1],"y":null}`, `{"s":""}`, 2},
		"a member too many below":        {typed, `{"s":"","list":[{"i":1},{"j":2}]}`, `{"s":"","list":[{"i":1},{}]}`, 1},
		"constants":                      {typed, `{"s":"","e":"1","c":"7"}`, `{"s":"","e":1,"c":7}`, 2},
		"a constant that is none":        {typed, `{"s":"","e":"2"}`, "", 0},
		"alternatives":                   {typed, `{"s":"","any":"5"}`, `{"s":"","any":5}`, 1},
		"one alternative":                {either, `{"kind":"a","n":"1","more":2}`, `{"kind":"a","n":1}`, 2},
		"another alternative's member":   {either, `{"kind":"a","x":"1"}`, "", 0},
		"a wrong member of one":          {either, `{"kind":"a","n":"one"}`, "", 0},
		"not a string":                   {`{"properties":{"a":{"not":{"type":"string"}}}}`, `{"a":"5"}`, "", 0},
		"a false schema":                 {`{"properties":{"a":false}}`, `{"a":1}`, "", 0},
		"names that do not fit":          {`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, "", 0},
		"through a reference":            {`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"i":{"type":"integer"},"in":{"$ref":"#/$defs/a"}}}}}`, `{"in":{"in":{"i":"5"}}}`, `{"in":{"in":{"i":5}}}`, 1},
		"something else is wrong too":    {typed, `{"s":"","i":"5","n":[]}`, "", 0},
	} {
		s := compiled(t, tc.schema)
		args := decode(t, tc.args)
		r, err := s.Read(args, budget.New(0))
		if !reflect.DeepEqual(args, decode(t, tc.args)) {
			t.Errorf("%s: the arguments were changed: %v", name, args)
		}
		strict := s.Validate(args, budget.New(0))
		switch {
		case tc.read == "":
			if e, ok := errors.AsType[*Error](err); !ok || strict == nil || e.Error() != strict.Error() {
				t.Errorf("%s: %v, want %v", name, err, strict)
			}
		case err != nil:
			t.Errorf("%s: refused: %v", name, err)
		case tc.count == 0:
			if r != nil || strict != nil {
				t.Errorf("%s: read as %+v, strictly %v", name, r, strict)
			}
		case r == nil || r.Count != tc.count || !reflect.DeepEqual(r.Value, decode(t, tc.read)) || strict == nil:
			t.Errorf("%s: read as %+v, want %s with %d places; strictly %v", name, r, tc.read, tc.count, strict)
		}
	}
}

func TestLenientPlaces(t *testing.T) {
	t.Parallel()
	s := compiled(t, `{"properties":{"file_path":{"type":"string"},"n":{"type":"integer"},"l":{"type":"array","items":{"properties":{"i":{"type":"integer"}},"additionalProperties":false}}},"additionalProperties":false}`)
	r, err := s.Read(decode(t, `{"n":"5","l":[{},{"i":"1","I":1}],"filePath":"x","more":{"n":"5"}}`), budget.New(0))
	if err != nil || r.Count != 5 {
		t.Fatal(r, err)
	}
	top := &r.Places
	if l := top.Step("l"); !top.Step("n").IsContent() || l.IsContent() || l.IsExtra() || l.Step("0").Step("i") != nil || !l.Step("1").Step("i").IsContent() || !l.Step("1").Step("I").IsExtra() {
		t.Errorf("places %+v", top)
	}
	if more := top.Step("more"); !more.IsExtra() || more.Step("n") != nil {
		t.Errorf("a member too many: %+v", more)
	}
	for name, want := range map[string]string{"filePath": "file_path", "FILE-PATH": "file_path", "filepath": "file_path", "-N_": "n", "more": "", "file path": ""} {
		if declared, ok := top.Spelling(name); declared != want || ok != (want != "") {
			t.Errorf("%s spells %q", name, declared)
		}
	}
	if declared, ok := top.Step("l").Step("1").Spelling("I"); declared != "i" || !ok {
		t.Errorf("I spells %q", declared)
	}
}

// TestLenientReadingIsBounded: what is wrong in many places, or in the schema, costs no more than a call may.
func TestLenientReadingIsBounded(t *testing.T) {
	t.Parallel()
	s := compiled(t, `{"properties":{"l":{"type":"array","items":{"properties":{"i":{"type":"integer"}},"additionalProperties":false}}}}`)
	list := func(n int) any {
		return decode(t, `{"l":[`+strings.TrimSuffix(strings.Repeat(`{"i":"1","x":null},`, n), ",")+`]}`)
	}
	if r, err := s.Read(list(100), budget.New(0)); err != nil || r.Count != 200 {
		t.Fatal(r, err)
	}
	if r, err := s.Read(list(30_000), budget.New(0)); err == nil || err.(*Error).Code != CodeBudget {
		t.Fatal(r, err)
	}
	if r, err := s.Read(list(1), nil); err == nil || err.(*Error).Code != CodeBudget {
		t.Fatal(r, err)
	}
	slow := compiled(t, `{"properties":{"a":{"pattern":"^(a+)+$"},"n":{"type":"integer"}}}`)
	if r, err := slow.Read(decode(t, `{"a":"`+strings.Repeat("a", 40)+`!","n":"5"}`), budget.New(0)); err == nil || err.(*Error).Code != CodeBudget {
		t.Fatal(r, err)
	}
	// Each value that is read brings the next one into sight. That goes on for a few rounds, and then the call is refused.
	var conditions, args []string
	for i := range maxRounds + 1 {
		conditions = append(conditions, fmt.Sprintf(`{"if":{"properties":{"p%d":{"type":"integer"}}},"then":{"properties":{"p%d":{"type":"integer"}}}}`, i, i+1))
		args = append(args, fmt.Sprintf(`"p%d":"1"`, i))
		s := compiled(t, `{"properties":{"p0":{"type":"integer"}},"allOf":[`+strings.Join(conditions, ",")+`]}`)
		if r, err := s.Read(decode(t, `{`+strings.Join(args, ",")+`}`), budget.New(0)); (err == nil) != (i < maxRounds) || err == nil && r.Count != i+1 {
			t.Errorf("a chain of %d: %+v %v", i+1, r, err)
		}
	}
}
