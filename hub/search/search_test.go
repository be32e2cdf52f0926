package search

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// realTools returns the tools of the servers in testdata, and their names.
func realTools(t testing.TB) (tools []Tool, names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/tools/*.json")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d servers in testdata/tools, %v", len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var server struct {
			Server string
			Tools  []struct {
				Name, Title, Description string
				InputSchema              json.RawMessage
			}
		}
		if err := json.Unmarshal(raw, &server); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, d := range server.Tools {
			tools = append(tools, Tool{Server: server.Server, Name: d.Name, Title: d.Title, Description: d.Description, Schema: d.InputSchema})
			names = append(names, server.Server+"/"+d.Name)
		}
	}
	return tools, names
}

func lines(t testing.TB, file string) [][]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(raw)) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return all
}

// recall counts the questions of one kind that have a right tool among the first 1, 3, 5.
type recall struct{ all, at1, at3, at5, answers int }

func (r recall) shares() [3]float64 {
	n := float64(r.all)
	return [3]float64{float64(r.at1) / n, float64(r.at3) / n, float64(r.at5) / n}
}

func TestRecall(t *testing.T) {
	tools, names := realTools(t)
	x := New(tools)
	got := map[string]*recall{}
	for _, q := range lines(t, "testdata/questions.tsv") {
		kind, right := q[0]+" "+q[1], strings.Fields(q[3])
		for _, r := range right {
			if !slices.Contains(names, r) {
				t.Fatalf("%q: there is no tool %s", q[2], r)
			}
		}
		if got[kind] == nil {
			got[kind] = &recall{}
		}
		r, place := got[kind], 0
		hits := x.Find(q[2], 10)
		for i, h := range hits {
			if slices.Contains(right, names[h.Tool]) {
				place = i + 1
				break
			}
		}
		r.all++
		r.answers += len(hits)
		if place == 1 {
			r.at1++
		}
		if place >= 1 && place <= 3 {
			r.at3++
		}
		if place >= 1 && place <= 5 {
			r.at5++
		}
		if place != 1 && q[1] == "seen" && testing.Verbose() {
			var first []string
			for _, h := range hits[:min(4, len(hits))] {
				first = append(first, names[h.Tool])
			}
			t.Logf("%s %q at %d: %s", q[0], q[2], place, strings.Join(first, " "))
		}
	}
	for kind, least := range floors {
		r := got[kind]
		s := r.shares()
		t.Logf("%-14s %d questions: %.2f %.2f %.2f at 1, 3, 5; %.1f answers", kind, r.all, s[0], s[1], s[2], float64(r.answers)/float64(r.all))
		for i, f := range least {
			if s[i] < f {
				t.Errorf("%s: recall at %d is %.2f, and was %.2f", kind, []int{1, 3, 5}[i], s[i], f)
			}
		}
	}
}

var floors = map[string][3]float64{
	"model seen":    {},
	"model unseen":  {},
	"person seen":   {},
	"person unseen": {},
}

// TestNothingFits holds that a question that no tool fits has few answers or none.
func TestNothingFits(t *testing.T) {
	tools, names := realTools(t)
	x := New(tools)
	for _, half := range []string{"seen", "unseen"} {
		questions, answers, none := 0, 0, 0
		for _, q := range lines(t, "testdata/nothing.tsv") {
			if q[0] != half {
				continue
			}
			hits := x.Find(q[1], 10)
			questions++
			answers += len(hits)
			if len(hits) == 0 {
				none++
			} else if half == "seen" {
				t.Logf("%q: %d, %s %.2f", q[1], len(hits), names[hits[0].Tool], hits[0].Score)
			}
		}
		t.Logf("%s: of %d questions %d without an answer, %.1f answers each", half, questions, none, float64(answers)/float64(questions))
	}
}
