package schema

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	jskind "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"mcphub/internal/jsonschema"
	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/strictjson"
)

// Limits of the schema stage. A child's schema and a caller's arguments are both untrusted, and together they can
// be made to cost anything; past a limit the call is denied, never let through unchecked.
const (
	maxNodes       = 1 << 16
	maxFrames      = 1 << 12                // of the stack, while a value is held against a schema
	regexBudget    = 250 * time.Millisecond // all regular expressions of one call together
	regexTimeout   = 100 * time.Millisecond // one match
	spareInstances = 4
	maxCauses      = 64 // at one place, of which the first three are told
)

var errBudget = errors.New("budget spent")

// meter is what one validation may still spend: steps of the call's budget, and time of regular expressions, which
// no one can count the work of. It belongs to one instance.
type meter struct {
	work  *budget.Budget
	regex time.Duration
	steps int
	spent bool
}

// countSteps is called once for every schema that is applied to a value. It stops the validator by a panic, which run
// recovers: the library has no other way to be interrupted, and none to report how deep it is.
func (m *meter) countSteps(steps int) {
	m.steps++
	deep := m.steps&0xff == 0 && runtime.Callers(maxFrames, make([]uintptr, 1)) > 0
	if m.spent || deep || !m.work.Spend(steps) {
		m.spent = true
		panic(errBudget)
	}
}

// chargeFormat returns the format that stands instead of a schema's own: it takes what applying the schema to a value costs.
func (m *meter) chargeFormat(s *jsonschema.Schema) *jsonschema.Format {
	each := 2 + countChoices(s)/16
	yieldSubschemas(s, func(sub *jsonschema.Schema) { each += countChoices(sub) / 16 })
	return &jsonschema.Format{Name: "budget", Validate: func(v any) error {
		size := 0
		switch v := v.(type) {
		case []any:
			size = len(v)
		case map[string]any:
			size = len(v)
		}
		m.countSteps(each * (1 + size))
		return nil
	}}
}

// countChoices returns how many values a schema lists.
func countChoices(s *jsonschema.Schema) int {
	if s.Enum == nil {
		return 0
	}
	return len(s.Enum.Values)
}

// instance is one compiled copy of a schema with the meter its regular expressions and steps are charged to.
type instance struct {
	Root    *jsonschema.Schema
	meter   *meter
	formats map[*jsonschema.Schema]string
}

// Schema is a compiled inputSchema. Schemas without references, alternatives and patterns cost no more than the
// arguments are long; one copy serves all calls, unmetered. Others are lent to one call at a time.
type Schema struct {
	*instance // the first
	doc       any
	quick     *quick          // says yes if that is plain; never no
	spare     chan *instance  // nil: the first serves all calls
	arguments map[string]Hint // of the ones that it declares
}

// ErrNoSchema means that what should be a schema is none.
var ErrNoSchema = errors.New("inputSchema is not an object")

// Anything reports whether an inputSchema without space around it accepts every object.
func Anything(raw []byte) bool {
	return len(raw) == 0 || string(raw) == "null" || string(raw) == "true"
}

// Read decodes an inputSchema as a child sent it, one that is not [Anything]. Bad text in a description is the child's; names that
// occur twice are refused, because two programs would read two schemas.
func Read(raw []byte, depth int) (doc any, err error) {
	t := strictjson.New(depth)
	defer t.Free()
	if err := t.Walk(raw, -1, 0, jsontext.AllowInvalidUTF8(true)); err != nil {
		if e, ok := errors.AsType[*strictjson.Error](err); ok {
			return nil, fmt.Errorf("inputSchema at %s: %s", chars.Quote(e.Pointer), e.Message)
		}
		return nil, err
	}
	if len(t.Nodes) > maxNodes {
		return nil, fmt.Errorf("inputSchema holds %d values, the limit is %d", len(t.Nodes), maxNodes)
	}
	if k := t.Nodes[0].Kind; k != strictjson.Object && k != strictjson.Bool {
		return nil, ErrNoSchema
	}
	return t.Value(0), nil
}

// Compile compiles a decoded schema, which belongs to it from then on.
func Compile(doc any) (*Schema, error) {
	admitNull(doc, false)
	s := &Schema{doc: doc}
	var err error
	if s.instance, err = s.compileCopy(); err != nil {
		return nil, err
	}
	s.quick = quickOf(s.Root)
	s.arguments = make(map[string]Hint, len(s.Root.Properties)) // which most calls have and no others
	for name := range s.Root.Properties {
		s.arguments[name] = s.hintAt([]step{{member: true, name: name}})
	}
	if isCostly(s.Root) {
		s.spare = make(chan *instance, spareInstances)
		s.spare <- s.instance
	}
	return s, nil
}

// data are the keywords that hold values and no schemas, and named the ones that hold schemas by names of anybody's choice.
var (
	data  = chars.WordSet("enum const default examples example")
	named = chars.WordSet("properties patternProperties $defs definitions dependentSchemas")
)

// admitNull makes of "nullable": true, which OpenAPI has and JSON Schema does not, what servers mean that say it.
func admitNull(doc any, names bool) {
	switch v := doc.(type) {
	case []any:
		for _, each := range v {
			admitNull(each, false)
		}
	case map[string]any:
		for key, each := range v {
			if names || !data[key] {
				admitNull(each, !names && named[key])
			}
		}
		if names || v["nullable"] != true {
			return
		}
		switch t := v["type"].(type) {
		case string:
			v["type"] = []any{t, "null"}
		case []any:
			if !slices.Contains(t, any("null")) {
				v["type"] = append(t, "null")
			}
		}
		if list, ok := v["enum"].([]any); ok && !slices.Contains(list, nil) {
			v["enum"] = append(list, nil)
		}
	}
}

// cheap are the fields of a schema, beside quickReads, that cost no more than one step for each value of the arguments.
var cheap = chars.WordSet("PropertyNames MinProperties MaxProperties DependentRequired PrefixItems AdditionalItems Const MultipleOf " +
	"Anchor DynamicAnchor ContentEncoding ContentMediaType ContentSchema Extensions")

var fields = sync.OnceValue(func() []reflect.StructField { return reflect.VisibleFields(reflect.TypeFor[jsonschema.Schema]()) })

// isCostly reports whether validating against a compiled schema can cost more than that.
func isCostly(root *jsonschema.Schema) (found bool) {
	Each(root, func(s *jsonschema.Schema) {
		found = found || countChoices(s) > 64 || saysField(s, func(field string) bool { return !quickReads[field] && !cheap[field] })
	})
	return found
}

// saysField reports whether a schema says anything by one of these of its fields.
func saysField(s *jsonschema.Schema, is func(field string) bool) bool {
	v := reflect.ValueOf(s).Elem()
	return slices.ContainsFunc(fields(), func(f reflect.StructField) bool {
		return f.IsExported() && is(f.Name) && !v.FieldByIndex(f.Index).IsZero()
	})
}

type refuseLoader struct{}

func (refuseLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside the schema: a hub loads nothing, neither from the network nor from files", chars.Quote(url))
}

// baseURL is the base of relative references: a name that nothing can be loaded from.
const baseURL = "https://schema.invalid/input"

// compileCopy makes one more copy of s.
func (s *Schema) compileCopy() (in *instance, err error) {
	defer func() {
		if r := recover(); r != nil {
			in, err = nil, fmt.Errorf("inputSchema does not compile: %v", r)
		}
	}()
	in = &instance{meter: &meter{}, formats: make(map[*jsonschema.Schema]string)}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refuseLoader{})
	c.UseRegexpEngine(in.meter.compilePattern)
	c.AssertFormat() // so that the compiled schema keeps formats
	registerFormats(c, s.doc)
	_ = c.AddResource(baseURL, s.doc) // if it is not added, it does not compile
	if in.Root, err = c.Compile(baseURL); err != nil {
		return nil, fmt.Errorf("inputSchema does not compile: %w", err)
	}
	// A format is an annotation here in every draft, and the field is the one place where the library calls out before it descends.
	metered := isCostly(in.Root)
	Each(in.Root, func(s *jsonschema.Schema) {
		if s.Format != nil {
			in.formats[s] = s.Format.Name
		}
		if s.Format = nil; metered {
			s.Format = in.meter.chargeFormat(s)
		}
	})
	return in, nil
}

// yieldSubschemas yields every schema that s refers to or holds.
func yieldSubschemas(s *jsonschema.Schema, yield func(*jsonschema.Schema)) {
	inPlace(s, false, yield)
	yieldEach(yield, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
		s.PrefixItems, s.Items, s.AdditionalItems, s.AdditionalProperties, s.Properties)
	for _, sub := range s.PatternProperties {
		yield(sub)
	}
}

// Validate judges decoded arguments.
func (s *Schema) Validate(v any, work *budget.Budget) error {
	if s == nil {
		return nil
	}
	regex := regexBudget
	bad, err := s.checkDecoded(v, work, &regex)
	if bad != nil {
		return describeError(bad)
	}
	return err
}

// checkDecoded holds decoded arguments against the schema, and returns what is wrong with them. regex is the time that its patterns may
// still take. An error reports that it could not be found out.
func (s *Schema) checkDecoded(v any, work *budget.Budget, regex *time.Duration) (bad *jsonschema.ValidationError, err error) {
	if s.spare == nil {
		return runValidator(s.instance, v)
	}
	var in *instance
	select {
	case in = <-s.spare:
	default:
		if in, err = s.compileCopy(); err != nil {
			return nil, &Error{CodeBudget, "", "the tool's schema could not be loaded: " + err.Error()}
		}
	}
	*in.meter = meter{work: work, regex: *regex}
	bad, err = runValidator(in, v)
	*regex = in.meter.regex
	select {
	case s.spare <- in:
	default:
	}
	return bad, err
}

// errSpent refuses a call that costs too much.
func errSpent() error {
	return &Error{CodeBudget, "", "checking the arguments against the tool's schema costs more than one call may, so the call was not made; send smaller arguments"}
}

func runValidator(in *instance, v any) (bad *jsonschema.ValidationError, err error) {
	defer func() {
		if r := recover(); r != nil {
			// Any panic of the library denies the call; only the call of step is expected.
			bad, err = nil, errSpent()
			if r != any(errBudget) {
				err = &Error{CodeBudget, "", "the arguments could not be checked against the tool's schema, so the call was not made"}
			}
		}
	}()
	wrong := in.Root.Validate(v)
	if in.meter.spent {
		return nil, errSpent() // whatever was found: a match that was cut short may have been turned round by a "not"
	}
	if wrong == nil || errors.As(wrong, &bad) {
		return bad, nil
	}
	return nil, &Error{CodeViolation, "", chars.Clip(wrong.Error(), 500)}
}

// describeError picks the deepest cause, which is what a caller can mend, and names what else is wrong at the same place. The library
// goes through members in any order; the same arguments are told the same every time: of places as deep, the first by name.
func describeError(ve *jsonschema.ValidationError) *Error {
	var there []*jsonschema.ValidationError // all at one place
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		for _, c := range e.Causes {
			visit(c)
		}
		if len(e.Causes) > 0 {
			return
		}
		better := 1
		if len(there) > 0 {
			best := there[0].InstanceLocation
			better = cmp.Or(len(e.InstanceLocation)-len(best), slices.Compare(best, e.InstanceLocation))
		}
		if better > 0 {
			there = there[:0]
		}
		if better >= 0 && len(there) < maxCauses {
			there = append(there, e)
		}
	}
	visit(ve)
	printer := message.NewPrinter(language.English)
	texts := make([]string, len(there))
	for i, e := range there {
		texts[i] = kindText(e, printer)
	}
	slices.Sort(texts)
	var p strings.Builder
	for _, token := range there[0].InstanceLocation {
		p.WriteByte('/')
		p.WriteString(strictjson.EscapeToken(token))
	}
	return &Error{CodeViolation, p.String(), chars.Clip(strings.Join(texts[:min(len(texts), 3)], "; or "), 500)}
}

// kindText words the violations that callers meet every day; the library words the rest. The offending value is not
// repeated: it may be a megabyte.
func kindText(e *jsonschema.ValidationError, p *message.Printer) string {
	switch k := e.ErrorKind.(type) {
	case *jskind.Required:
		return "missing " + quoteList(k.Missing)
	case *jskind.AdditionalProperties:
		return "unknown " + quoteList(slices.Sorted(slices.Values(k.Properties)))
	case *jskind.Type:
		return "got " + k.Got + ", want " + strings.Join(k.Want, " or ")
	case *jskind.Pattern:
		return "does not match the pattern " + chars.Quote(k.Want)
	}
	return e.ErrorKind.LocalizedString(p)
}

func quoteList(names []string) string {
	const most = 8
	var q []string
	for _, n := range names[:min(len(names), most)] {
		q = append(q, chars.Quote(n))
	}
	if more := len(names) - most; more > 0 {
		q = append(q, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(q, ", ")
}
