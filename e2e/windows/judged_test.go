package windows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/bounds"
	"mcphub/e2e/ide"
)

// tolerated are the attacks that pass, by their arguments, each with its reason. There are three at most.
var tolerated = map[string]string{}

// refusedOfHundred is how many honest calls of a hundred may be refused.
const refusedOfHundred = 2

// has is the answer of the witness.
const has = "the witness has it"

// An outcome is what came of a call.
type outcome struct {
	call
	passed bool
	answer string
}

// TestCalls sends each call of the tables to the witness, with one hub for each project. A call has passed if the witness has received it.
// As the control, each attack also goes to a server whose paths are not judged, and reaches it.
func TestCalls(t *testing.T) {
	t.Parallel()
	m := onWindows(t)
	m.forget(t) // a server of an earlier test may write in a project, so that hub.json there would wait for a person
	attacks, honest := m.table(t, "attacks.tsv", 5), m.table(t, "honest.tsv", 4)
	if len(attacks) < 400 || len(honest) < 300 {
		t.Errorf("%d attacks and %d honest calls", len(attacks), len(honest))
	}
	var passed, refused []outcome
	for _, name := range slices.Sorted(maps.Keys(projects)) {
		of := func(all []call) []call {
			return slices.DeleteFunc(slices.Clone(all), func(c call) bool { return c.project != name })
		}
		bad, good := m.judge(t, name, of(attacks), of(honest))
		passed = append(passed, slices.DeleteFunc(bad, func(o outcome) bool { return !o.passed })...)
		refused = append(refused, slices.DeleteFunc(good, func(o outcome) bool { return o.passed })...)
	}
	t.Logf("%d of %d attacks pass: %v", len(passed), len(attacks), classes(passed))
	t.Logf("%d of %d honest calls are refused: %v", len(refused), len(honest), classes(refused))
	seen := map[string]bool{}
	for _, o := range passed {
		seen[o.arguments] = true
		if tolerated[o.arguments] == "" {
			t.Errorf("an attack passes: %s\n\t%s, opens %s", o.call, o.class, o.opens)
		}
	}
	for arguments := range tolerated {
		if !seen[arguments] {
			t.Errorf("%s is refused: take it out of the list", arguments)
		}
	}
	if len(tolerated) > 3 {
		t.Errorf("%d attacks are tolerated", len(tolerated))
	}
	for _, o := range refused {
		t.Logf("an honest call is refused: %s\n\t%s: %s", o.call, o.class, strings.ReplaceAll(o.answer, "\n", "\n\t"))
	}
	if len(refused)*100 > len(honest)*refusedOfHundred {
		t.Errorf("%d of %d honest calls are refused", len(refused), len(honest))
	}
}

// classes counts outcomes by class.
func classes(all []outcome) map[string]int {
	count := map[string]int{}
	for _, o := range all {
		count[o.class]++
	}
	return count
}

// judge sends the attacks and the honest calls of one project through one hub.
func (m *machine) judge(t *testing.T, name string, attacks, honest []call) (bad, good []outcome) {
	t.Helper()
	p := projects[name]
	var roots ide.Roots
	if p.uri != "" {
		roots = ide.Result(fmt.Sprintf(`{"roots":[{"uri":%q,"name":%q}]}`, p.uri, name))
	}
	c := m.serve(t, p.root, roots, m.configure(t, name))
	defer func() {
		if e := c.Close(bounds.Patience); e.Code != 0 || e.Killed || e.Held {
			t.Errorf("%s: the hub ends with %+v: %s", name, e, c.Stderr())
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), bounds.Patience)
	defer cancel()
	if _, err := c.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	bad, good = send(ctx, t, c, "witness", attacks), send(ctx, t, c, "witness", honest)
	received := 0
	for _, o := range slices.Concat(bad, good) {
		if o.passed {
			received++
		}
	}
	if n := m.recorded(t, name); n != received {
		t.Errorf("%s: the witness has %d calls, and answered %d", name, n, received)
	}
	for _, o := range send(ctx, t, c, "open", attacks) {
		if !o.passed {
			t.Errorf("%s does not reach a server whose paths are not judged: %s", o.call, o.answer)
		}
	}
	if n := m.recorded(t, name+"-control"); n != len(attacks) {
		t.Errorf("%s: %d of %d attacks reach a server whose paths are not judged", name, n, len(attacks))
	}
	return bad, good
}

// send calls a tool of a server for each call, and waits for all answers.
func send(ctx context.Context, t *testing.T, c *ide.Client, server string, calls []call) []outcome {
	t.Helper()
	ids := make([]string, len(calls))
	for i, a := range calls {
		var err error
		if ids[i], err = c.StartTool(server+"__"+a.tool, a.arguments); err != nil {
			t.Fatal(err)
		}
	}
	all := make([]outcome, len(calls))
	for i, id := range ids {
		r, err := c.ToolAnswer(ctx, id)
		if err != nil && r.Raw == nil {
			t.Fatal(calls[i], err)
		}
		all[i] = outcome{call: calls[i], passed: err == nil && !r.IsError && r.Text == has, answer: r.Text}
		if err != nil {
			all[i].answer = err.Error()
		}
		if !all[i].passed && !r.IsError && err == nil {
			t.Errorf("%s is neither refused nor received: %s", calls[i], r.Raw)
		}
	}
	return all
}

// recorded counts the calls that a witness has received.
func (m *machine) recorded(t *testing.T, record string) int {
	t.Helper()
	text, err := os.ReadFile(m.path(`C:\records\` + record + `.jsonl`))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}
