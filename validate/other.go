package validate

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcphub/validate/access"
	"mcphub/validate/names"
	"mcphub/validate/strictjson"
	"mcphub/validate/uri"
)

// ScanURI searches the URI of resources/read and of a subscription (V7). templates are the child's own URI templates:
// where the URI is made from one, its variables are judged like arguments, and file://local/{path} means the variable,
// not a host called local. A URI that is malformed is an *Error.
func (c *Checker) ScanURI(child, text string, templates ...string) (*Scan, error) {
	t, err := c.other(child, methodRead, methodRead)
	if err != nil {
		return nil, err
	}
	t.uri = true
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
	tr := strictjson.New(c.depth)
	defer tr.Free()
	if err := tr.Parse(writeJSON(struct {
		URI       string              `json:"uri"`
		Variables map[string][]string `json:"variables"`
	}{text, vars}), c.size); err != nil {
		return nil, err
	}
	m := newMemory()
	defer m.free()
	d := m.detector(tr, c, t, m.budget(len(text)))
	if t.mode != ModeOff {
		id := tr.Child(0, "uri")
		if local || !uri.IsForeignFile(text) {
			d.broadURI(id, text)
		}
		if t.mode == ModeStrict {
			d.sliced(id, spellings, templates)
		}
		if at := tr.Child(0, "variables"); at > 0 {
			if err := d.visit(at, place{key: -1}); err != nil {
				return nil, err
			}
		}
	}
	if err := d.overflow(); err != nil {
		return nil, err
	}
	return d.found()
}

// ScanPrompt searches the arguments of prompts/get: raw, a JSON object.
func (c *Checker) ScanPrompt(child, prompt string, args []byte) (*Scan, error) {
	t, err := c.other(child, prompt, methodPrompt)
	if err != nil {
		return nil, err
	}
	return c.Scan(t, args)
}

// ScanCompletion searches completion/complete: the argument to complete, the arguments given already (raw, a JSON
// object or nil), and the URI that a template makes of them. template is "" for the argument of a prompt.
func (c *Checker) ScanCompletion(child, template, name, value string, given []byte) (*Scan, error) {
	t, err := c.other(child, methodComplete, methodComplete)
	if err != nil {
		return nil, err
	}
	t.uri = template != ""
	s, err := c.Scan(t, given)
	if err != nil {
		return nil, err
	}
	tr := strictjson.New(c.depth)
	defer tr.Free()
	if err := tr.Parse(writeJSON(map[string]string{name: value}), c.size); err != nil {
		return nil, err
	}
	m := newMemory()
	defer m.free()
	d := m.detector(tr, c, t, &s.work)
	d.findings = s.findings
	if err := d.run(); err != nil {
		return nil, err
	}
	if template != "" && t.mode != ModeOff && !uri.IsForeignFile(template) {
		d.broadURI(tr.Nodes[0].First, uri.Fill(template, name, value))
	}
	if err := d.overflow(); err != nil {
		return nil, err
	}
	found, err := d.found()
	if err == nil {
		found.resources = append(found.resources, s.resources...)
	}
	return found, err
}

// ScanParams searches the params of a request or notification that this program does not know: raw, a JSON object, or nil
// for none. They are searched as the arguments of a tool without a schema that is called like the method, and a URI
// among them as that of resources/read too.
func (c *Checker) ScanParams(child, method string, params []byte, templates ...string) (*Scan, error) {
	t, err := c.other(child, method, method)
	if err != nil {
		return nil, err
	}
	t.traits = names.TraitsOf(method, false, false)
	s, err := c.Scan(t, params)
	if err != nil {
		return nil, err
	}
	tr := strictjson.New(c.depth)
	defer tr.Free()
	if err := tr.Parse(params, c.size); err != nil {
		return nil, err
	}
	if id := tr.Child(0, "uri"); id > 0 && tr.Nodes[id].Kind == strictjson.String {
		more, err := c.ScanURI(child, tr.Str(id), templates...)
		if err != nil {
			return nil, err
		}
		s.findings = append(s.findings, more.findings...)
	}
	return s, nil
}

// Methods stand for the names of tools where the policy's rules are asked about a request that is no call of one.
const (
	methodRead     = "resources/read"
	methodPrompt   = "prompts/get"
	methodComplete = "completion/complete"
)

// other stands for what is asked of a child that is no tool. It reads.
func (c *Checker) other(child, name, method string) (*Tool, error) {
	if c == nil || c.children[child] == nil {
		return nil, &strictjson.Error{Code: strictjson.CodeSyntax, Message: "no such server is configured"}
	}
	t := c.prepare(c.children[child], "", name, true, false)
	t.traits = names.Traits{Role: access.Read}
	t.ruling = c.policy.ruling(child, method)
	return t, nil
}

// broadURI judges a whole URI: only schemes that carry a path matter.
// MatchesTemplate reports whether a URI may come from an RFC 6570 template.
func MatchesTemplate(template, text string) bool {
	_, ok := uri.Match(template, text)
	return ok
}

func (d *detector) broadURI(id int32, text string) {
	switch kind, texts := uri.Read(text); kind {
	case uri.File:
		d.add(Finding{Value: texts[0], How: HowURI, form: formURI, node: id}, place{key: -1})
	case uri.Path:
		d.add(Finding{Value: texts[0], alts: texts[1:], How: HowURI, node: id}, place{key: -1})
	case uri.None:
		d.broad(id, text, place{key: -1}, false)
		d.name(id, text, place{key: -1}, false)
	case uri.Other:
		d.uris(id, text, place{key: -1}, false)
		d.urlLink(id, text, place{key: -1}, false)
	}
}

// writeJSON writes what the strict walk reads; bad text stays bad, so that it is refused there.
func writeJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("\"\xff\"")
	}
	return b
}

// quoteJSON writes a text for people to copy.
func quoteJSON(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		return []byte(`""`)
	}
	return b
}
