package detect

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"

	"mcphub/validate/budget"
	"mcphub/validate/declare"
	"mcphub/validate/machine"
	"mcphub/validate/names"
	"mcphub/validate/resource"
	"mcphub/validate/schema"
	"mcphub/validate/strictjson"
	"mcphub/validate/uri"
)

// Searcher finds the paths of calls. It is immutable, and safe for concurrent use.
type Searcher struct {
	Machine         *machine.Machine
	Depth, Size     int           // of arguments: how deep they may nest, and how many bytes
	Resources       *resource.Set // prefixes of the URIs that may be named; nil: no scheme is bound
	ClientResources bool          // the client may bind further schemes
	Guarded         Names         // of what is protected, and of the directories of rules
}

// Result is what the arguments of one call hold. It keeps none of their bytes.
type Result struct {
	Findings  []Finding     // of the arguments as they stand, and after those the ones of a lenient reading
	Reread    int           // how many of Findings are of that reading
	Lenient   int           // how many values it takes differently from how they stand; 0: there is none
	Resources []Finding     // URIs of schemes with prefixes; of any scheme if the client may give prefixes
	Work      budget.Budget // what judging them may cost
	tool      *Tool
	value     any // the arguments, decoded, if a string may have to be rewritten and the tool has a schema
}

// Arguments walks, validates and searches the arguments of one call. nil stands for absent arguments. The error is a
// *strictjson.Error or a *schema.Error.
func (s *Searcher) Arguments(t *Tool, args []byte) (r Result, err error) {
	t = t.Loaded()
	if s.Resources == nil && len(args) <= s.Size && t.plain.fitsPlainly(args, &s.Guarded) {
		return Result{Work: *budget.New(len(args)), tool: t}, nil
	}
	m, err := s.readArguments(args)
	if err != nil {
		return r, err
	}
	defer m.freeMemory()
	m.work = *budget.New(len(args))
	var reading *schema.Reading
	if t.schema != nil && !t.schema.Plainly(m.tree) {
		if reading, err = t.fitArguments(m.tree.Value(0), &m.work); err != nil {
			return r, err
		}
	}
	d := m.newDetector(s, t, &m.work)
	if reading != nil {
		return d.searchBoth(reading)
	}
	if err = d.walkTree(); err == nil && len(t.defaults) > 0 {
		err = d.searchMissing()
	}
	if err != nil {
		return r, err
	}
	return d.foundResult()
}

// searchBoth searches arguments as they stand and by a lenient reading: which of the two the server takes, only the server knows.
func (d *detector) searchBoth(reading *schema.Reading) (r Result, err error) {
	d.places = &reading.Places
	if err := d.walkTree(); err != nil {
		return r, err
	}
	standing := len(d.findings)
	resources, err := d.searchReread(reading.Value)
	if err != nil {
		return r, err
	}
	r, err = d.foundResult()
	r.Reread, r.Lenient = len(r.Findings)-standing, reading.Count
	seen := make(map[[2]string]bool)
	for _, f := range r.Resources {
		seen[[2]string{f.Pointer, f.Value}] = true
	}
	for _, f := range resources {
		if !seen[[2]string{f.Pointer, f.Value}] {
			r.Resources = append(r.Resources, f)
		}
	}
	return r, err
}

// foundResult returns what the search has come to. It keeps the arguments if they may have to be held against the schema again: see Misfit.
func (d *detector) foundResult() (Result, error) {
	resources, err := d.findResources()
	r := Result{Findings: d.findings, Resources: resources, Work: *d.work, tool: d.tool}
	if d.tool.schema != nil && d.tool.Rewrites && slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rewritable.End > 0 }) {
		r.value = d.t.Value(0)
	}
	return r, err
}

// URI searches the URI of a resource. templates are the child's own URI templates: if the URI is made from one, its
// variables are searched like arguments, and file://local/{path} means the variable, not a host called local. A URI that is
// malformed is a *strictjson.Error.
func (s *Searcher) URI(t *Tool, text string, templates ...string) (r Result, err error) {
	local := true
	vars := map[string][]string{}
	spellings := uri.Spellings(text)
	for _, template := range templates {
		for _, spelling := range spellings {
			got, ok := uri.Match(template, spelling)
			if !ok {
				continue
			}
			for name, value := range got {
				if !slices.Contains(vars[name], value) {
					vars[name] = append(vars[name], value)
				}
			}
			if uri.IsForeignFile(template) {
				local = false
			}
		}
	}
	m, err := s.readArguments(writeJSON(struct {
		URI       string              `json:"uri"`
		Variables map[string][]string `json:"variables"`
	}{text, vars}))
	if err != nil {
		return r, err
	}
	defer m.freeMemory()
	m.work = *budget.New(len(text))
	d := m.newDetector(s, t, &m.work)
	if t.Mode != declare.ModeOff {
		id := d.t.Child(0, "uri")
		if local || !uri.IsForeignFile(text) {
			d.broadURI(id, text, templates)
		}
		if t.Mode == declare.ModeStrict {
			d.searchSlices(id, spellings, templates)
		}
		if at := d.t.Child(0, "variables"); at > 0 {
			if err := d.visitNode(at, slot{key: -1}); err != nil {
				return r, err
			}
		}
	}
	if err := d.refuseOverflow(); err != nil {
		return r, err
	}
	return d.foundResult()
}

// Completion searches an argument that is to be completed, those given already (raw, a JSON object or nil), and the URI
// that a template makes of them. template is "" for the argument of a prompt.
func (s *Searcher) Completion(t *Tool, template, name, value string, given []byte) (r Result, err error) {
	if r, err = s.Arguments(t, given); err != nil {
		return r, err
	}
	m, err := s.readArguments(writeJSON(map[string]string{name: value}))
	if err != nil {
		return r, err
	}
	defer m.freeMemory()
	d := m.newDetector(s, t, &r.Work)
	d.findings = r.Findings
	if err := d.walkTree(); err != nil {
		return r, err
	}
	if template != "" && t.Mode != declare.ModeOff && !uri.IsForeignFile(template) {
		d.broadURI(d.t.Nodes[0].First, uri.Fill(template, name, value), []string{template})
	}
	if err := d.refuseOverflow(); err != nil {
		return r, err
	}
	before := r.Resources
	r, err = d.foundResult()
	r.Resources = append(r.Resources, before...)
	return r, err
}

// SearchReplaced searches the new text of a string, of which f was found, the way the old one was, on the machine as the same call
// sees it.
func (s *Searcher) SearchReplaced(r *Result, seen *machine.Machine, work *budget.Budget, f *Finding, to string) ([]Finding, error) {
	m, err := s.readArguments(writeJSON(map[string]string{"": to}))
	if err != nil {
		return nil, err
	}
	defer m.freeMemory()
	d := detector{t: m.tree, s: s, m: seen, tool: r.tool, roleKey: -1, work: work, keys: &m.keys}
	if id := d.t.Nodes[0].First; f.How == HowKey || f.How == HowFileURI {
		d.namedPath(id, to, slot{key: -1})
	} else {
		d.asPath(id, to, slot{key: -1}, f.How, false)
	}
	if err := d.refuseOverflow(); err != nil {
		return nil, err
	}
	for i := range d.findings {
		g := &d.findings[i]
		g.Pointer, g.Raw, g.Role, g.Base, g.BaseDir = f.Pointer, f.Raw, f.Role, f.Base, f.BaseDir
		g.Node, g.Context, g.Declare, g.Rewritable = f.Node, f.Context, f.Declare, Rewritable{}
	}
	return d.findings, nil
}

// Misfit returns why the arguments do not fit the tool's schema once the strings at some pointers are replaced.
func (r *Result) Misfit(texts map[string]string, work *budget.Budget) error {
	if r.value == nil {
		return nil
	}
	value := r.value
	for pointer, text := range texts {
		value = replaceAt(value, pointer, text)
	}
	_, err := r.tool.fitArguments(value, work)
	return err
}

// replaceAt is v with another string at pointer; v itself stays as it is.
func replaceAt(v any, pointer, to string) any {
	token, rest, ok := strictjson.CutToken(pointer)
	if !ok {
		return to
	}
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		out[token] = replaceAt(v[token], rest, to)
		return out
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i < len(v) {
			out := slices.Clone(v)
			out[i] = replaceAt(v[i], rest, to)
			return out
		}
	}
	return v
}

// writeJSON writes what the strict walk reads; bad text stays bad, so that it is refused there.
func writeJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("\"\xff\"")
	}
	return b
}

// memory is what the search of one call needs. It is used again, and belongs to one goroutine.
type memory struct {
	tree     *strictjson.Tree // of the arguments
	keys     names.Buffer
	work     budget.Budget
	diskView machine.DiskView
}

var memories = sync.Pool{New: func() any { return new(memory) }}

// readArguments walks arguments, in memory that the caller frees.
func (s *Searcher) readArguments(args []byte) (*memory, error) {
	m := memories.Get().(*memory)
	m.tree = strictjson.New(s.Depth)
	if err := m.tree.Parse(args, s.Size); err != nil {
		m.freeMemory()
		return nil, err
	}
	return m, nil
}

// freeMemory hands m back; it holds on to no part of the call.
func (m *memory) freeMemory() {
	m.tree.Free()
	m.tree, m.diskView, m.work = nil, machine.DiskView{}, budget.Budget{}
	memories.Put(m)
}

// newDetector searches the tree for a tool.
func (m *memory) newDetector(s *Searcher, tool *Tool, work *budget.Budget) detector {
	return detector{t: m.tree, s: s, m: m.diskView.Open(s.Machine, work, false), tool: tool, roleKey: -1, work: work, keys: &m.keys}
}
