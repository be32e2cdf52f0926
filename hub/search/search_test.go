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

// floors are the figures of docs/search.md.
var floors = map[string][3]float64{
	"model seen":    {0.90, 1.00, 1.00},
	"model unseen":  {0.86, 0.96, 0.98},
	"person seen":   {0.62, 0.86, 0.90},
	"person unseen": {0.64, 0.76, 0.82},
}

// TestNothingFits holds that a question that no tool fits has few answers or none.
func TestNothingFits(t *testing.T) {
	tools, names := realTools(t)
	x := New(tools)
	for half, most := range map[string]float64{"seen": 1.3, "unseen": 2.5} {
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
		if questions != 10 || none < 7 || float64(answers)/float64(questions) > most {
			t.Errorf("%s: %d of %d questions without an answer, was 7; %d answers", half, none, questions, answers)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"readTextFile":           "read text file",
		"API-get-block_children": "api get block children",
		"HTTPServer":             "http server",
		"open PRs, URLs":         "open prs urls",
		"Füße!":                  "füße",
		"":                       "",
	} {
		var got []string
		words(text, func(w string) { got = append(got, w) })
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
}

func TestStem(t *testing.T) {
	for _, alike := range [][]string{
		{"list", "lists", "listed", "listing"},
		{"run", "runs", "running"},
		{"navigate", "navigates", "navigation", "navigating"},
		{"directory", "directories"},
		{"pr", "prs"},
	} {
		for _, w := range alike {
			if stem(w) != stem(alike[0]) {
				t.Errorf("%s becomes %s, and %s %s", w, stem(w), alike[0], stem(alike[0]))
			}
		}
	}
	for _, w := range []string{"status", "process", "css", "this", "dns", "és", "é"} {
		if stem(w) == "" {
			t.Errorf("%s becomes nothing", w)
		}
	}
}

func TestMisspelt(t *testing.T) {
	x := New([]Tool{{Server: "a", Name: "take_screenshot"}, {Server: "a", Name: "list_repositories"}, {Server: "b", Name: "send"}})
	for question, want := range map[string]int{"screenshto": 0, "sreenshot": 0, "repositries": 1, "repos": 1, "SEND": 2} {
		if hits := x.Find(question, 5); len(hits) != 1 || hits[0].Tool != want {
			t.Errorf("%q: %v, want tool %d", question, hits, want)
		}
	}
}

// TestOdd holds that nothing a server or a client says breaks the search.
func TestOdd(t *testing.T) {
	if hits := New(nil).Find("read file", 5); len(hits) != 0 {
		t.Errorf("an empty index: %v", hits)
	}
	deep := strings.Repeat(`{"items":`, 500) + `{}` + strings.Repeat(`}`, 500)
	x := New([]Tool{
		{Server: "a", Name: "read", Schema: []byte(deep)},
		{Server: "a", Name: "write", Schema: []byte(`{"properties":[],"enum":{},"anyOf":true,"items":false}`)},
		{Server: "a", Name: "", Description: strings.Repeat("word ", 1<<16), Schema: []byte("{")},
	})
	for _, question := range []string{"", " ", "the", "\xff\xfe", strings.Repeat("read ", 1<<16), strings.Repeat("x", 1<<16)} {
		x.Find(question, 5)
	}
	if hits := x.Find("read", 0); hits != nil {
		t.Errorf("limit 0: %v", hits)
	}
	if hits := x.Find("read", 5); len(hits) != 1 || hits[0].Tool != 0 {
		t.Errorf("read: %v", hits)
	}
}

func BenchmarkNew(b *testing.B) {
	tools, _ := realTools(b)
	b.ReportAllocs()
	for b.Loop() {
		New(tools)
	}
}

func BenchmarkFind(b *testing.B) {
	tools, _ := realTools(b)
	x := New(tools)
	for name, question := range map[string]string{"known": "create github issue", "misspelt": "retreive the documnet form the brwoser"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Find(question, 5)
			}
		})
	}
}
