package validate

import (
	"errors"
	"fmt"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/declare"
	"mcphub/validate/detect"
	"mcphub/validate/names"
	"mcphub/validate/policy"
	"mcphub/validate/strictjson"
)

// Tool is what is known of one tool before any call. Immutable.
type Tool struct {
	name          string
	child         *checkedChild
	profile       *declare.Profile
	ruling        *policy.Ruling
	startsAtFirst bool // relative paths start in the first directory that the server is served
	args          detect.Tool
	emptyScan     *Scan // the one Scan for every call in which nothing was found
}

// Name returns the tool's own name, without the hub's prefix.
func (t *Tool) Name() string { return t.name }

// Mode returns how far the tool's arguments are searched.
func (t *Tool) Mode() declare.Mode { return t.args.Loaded().Mode }

// SchemaError returns why calls are not checked by the tool's schema; nil if they are, or there is none.
func (t *Tool) SchemaError() error { return t.args.SchemaError() }

// ProfileName returns the built-in profile in force, "" for none.
func (t *Tool) ProfileName() string {
	if t.profile == nil {
		return ""
	}
	return t.profile.Name
}

// definition is what this package reads of an entry of tools/list.
type definition struct {
	name                  string
	schema                []byte
	readOnly, destructive bool
}

// PrepareTool prepares one tool of a child from its raw entry of tools/list. serverName is serverInfo.name as the child gave
// it. An error means that the tool must not be offered, and reports why.
func (checker *Checker) PrepareTool(child, serverName string, def []byte) (*Tool, error) {
	if checker == nil || checker.children[child] == nil {
		return nil, fmt.Errorf("no server %s is configured", chars.Quote(child))
	}
	d, err := readDefinition(def, checker.search.Depth)
	if err != nil {
		return nil, fmt.Errorf("tool definition: %w", err)
	}
	t := checker.joinDeclarations(checker.children[child], serverName, d.name, d.readOnly, d.destructive)
	if t.profile != nil {
		t.args.Rewrites = t.profile.Rewrite
	}
	if err := t.args.UseSchema(d.schema, checker.search.Depth); err != nil {
		return nil, err
	}
	return t, nil
}

// joinDeclarations joins what the operator, the profile and the name say.
func (checker *Checker) joinDeclarations(ch *checkedChild, serverName, name string, readOnly, destructive bool) *Tool {
	t := &Tool{name: name, child: ch, profile: ch.profile, ruling: checker.policy.Ruling(ch.Name, name)}
	t.args = detect.Tool{Mode: ch.mode, Traits: names.TraitsOf(name, readOnly, destructive), Boxed: ch.container != nil, Demand: ch.Demand}
	byName := t.profile == nil
	if byName {
		t.profile = declare.ByServer(serverName)
	} else {
		t.startsAtFirst = t.profile.First // a server must not reduce the readings by what it calls itself
		if t.profile.Mode != nil && !ch.ModeSet {
			t.args.Mode = *t.profile.Mode
		}
	}
	t.args.Rules = declare.New(name, ch.Args, t.profile, byName)
	t.emptyScan = &Scan{tool: t, found: detect.Result{Work: *budget.New(0)}, byClient: checker.search.ClientResources}
	return t
}

// readDefinition takes the members it needs from a raw tool entry; the rest passes through the hub untouched.
func readDefinition(def []byte, depth int) (definition, error) {
	var d definition
	t := strictjson.New(depth + 4)
	defer t.Free()
	if err := t.Walk(def, -1, 0, strictjson.Tolerated...); err != nil {
		return d, err
	}
	if t.Nodes[0].Kind != strictjson.Object {
		return d, errors.New("not an object")
	}
	seen := 0
	for m := t.Nodes[0].First; m > 0; m = t.Nodes[m].Next {
		n := &t.Nodes[m]
		switch t.Name(m) {
		case "name":
			if n.Kind != strictjson.String {
				return d, errors.New("the name is not a string")
			}
			d.name = t.Str(m)
		case "inputSchema":
			seen++
			d.schema = t.Whole(m)
		case "annotations":
			d.readOnly = t.IsTrue(m, "readOnlyHint")
			d.destructive = t.IsTrue(m, "destructiveHint")
		}
	}
	if seen > 1 {
		return d, errors.New("inputSchema occurs twice")
	}
	if d.name == "" {
		return d, errors.New("it has no name")
	}
	return d, nil
}
