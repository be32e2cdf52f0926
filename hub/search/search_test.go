package search

import (
	"encoding/json"
	"maps"
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

// recall counts the questions of one kind that have a right tool among the first 1, 3, 5,
// and of the last those whose answer is marked weak.
type recall struct{ all, at1, at3, at5, weak int }

func (r recall) shares() [4]float64 {
	n := float64(r.all)
	return [4]float64{float64(r.at1) / n, float64(r.at3) / n, float64(r.at5) / n, float64(r.weak) / max(1, float64(r.at5))}
}

// TestRecall holds the figures of docs/search.md: of each kind of questions how many have a right tool
// among the first 1, 3 and 5, and of those how many answers are marked weak.
func TestRecall(t *testing.T) {
	t.Parallel()
	tools, names := realTools(t)
	x := New(tools)
	got := map[string]*recall{}
	for _, q := range lines(t, "testdata/questions.tsv") {
		kind, half, question, right := q[0], q[1], q[2], strings.Fields(q[3])
		for _, r := range right {
			if !slices.Contains(names, r) {
				t.Fatalf("%q: there is no tool %s", question, r)
			}
		}
		hits, weak := x.Find(question, 5)
		place := 1 + slices.IndexFunc(hits, func(h Hit) bool { return slices.Contains(right, names[h.Tool]) })
		for _, k := range []string{kind + " " + half, "all " + half} {
			if got[k] == nil {
				got[k] = &recall{}
			}
			got[k].count(place, weak)
		}
		if place != 1 && half != "unseen" && half != "blind" && half != "other" && testing.Verbose() {
			var first []string
			for _, h := range hits[:min(4, len(hits))] {
				first = append(first, names[h.Tool])
			}
			t.Logf("%s %q at %d: %s", kind, question, place, strings.Join(first, " "))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(floors)) {
		least, s := floors[kind], got[kind].shares()
		t.Logf("%-14s %3d questions: %.2f %.2f %.2f at 1, 3, 5; %.2f of the right ones marked weak", kind, got[kind].all, s[0], s[1], s[2], s[3])
		for i, at := range []int{1, 3, 5} {
			if s[i] < least[i] {
				t.Errorf("%s: recall at %d is %.3f, and was %.2f", kind, at, s[i], least[i])
			}
		}
		if s[3] > least[3] {
			t.Errorf("%s: %.3f of the right answers are marked weak, was %.2f", kind, s[3], least[3])
		}
	}
}

func (r *recall) count(place int, weak bool) {
	r.all++
	if place == 1 {
		r.at1++
	}
	if place >= 1 && place <= 3 {
		r.at3++
	}
	if place >= 1 {
		r.at5++
		if weak {
			r.weak++
		}
	}
}

// floors are the figures of docs/search.md: at 1, 3, 5, and what share of the right answers may be marked weak.
var floors = map[string][4]float64{
	"model seen":    {0.92, 1.00, 1.00, 0.00},
	"model unseen":  {0.94, 1.00, 1.00, 0.00},
	"person seen":   {0.64, 0.90, 0.96, 0.15},
	"person unseen": {0.74, 0.92, 0.96, 0.09},
	"model asked":   {0.96, 1.00, 1.00, 0.00},
	"person asked":  {0.71, 0.86, 0.95, 0.08},
	"all asked":     {0.84, 0.93, 0.97, 0.04},
	"model tuned":   {0.87, 0.97, 1.00, 0.03},
	"person tuned":  {0.54, 0.70, 0.79, 0.26},
	"all tuned":     {0.67, 0.81, 0.87, 0.16},
	"model blind":   {0.90, 1.00, 1.00, 0.00},
	"person blind":  {0.32, 0.55, 0.62, 0.28},
	"all blind":     {0.51, 0.70, 0.75, 0.16},
	"model other":   {0.70, 0.86, 0.98, 0.02},
	"person other":  {0.60, 0.76, 0.80, 0.34},
	"all other":     {0.65, 0.81, 0.89, 0.16},
}

// TestNothingFits holds that the answer to a question that no tool fits is marked weak.
func TestNothingFits(t *testing.T) {
	t.Parallel()
	tools, names := realTools(t)
	x := New(tools)
	all, marked := map[string]int{}, map[string]int{}
	for _, q := range lines(t, "testdata/nothing.tsv") {
		all[q[0]]++
		if hits, weak := x.Find(q[1], 5); weak {
			marked[q[0]]++
		} else if q[0] != "unseen" && q[0] != "blind" && q[0] != "other" {
			t.Logf("%q: %s %.2f", q[1], names[hits[0].Tool], hits[0].Score)
		}
	}
	for half, least := range map[string]float64{"seen": 0.80, "unseen": 0.80, "asked": 0.83, "tuned": 0.87, "blind": 0.97, "other": 0.75} {
		share := float64(marked[half]) / float64(all[half])
		t.Logf("%s: of %d questions %d marked weak", half, all[half], marked[half])
		if share < least {
			t.Errorf("%s: %.3f of the questions that nothing fits are marked weak, was %.2f", half, share, least)
		}
	}
}

// TestWordsOfAPerson holds what the person's questions among the asked ones claim: no word of them stands in the name,
// title or first sentence of a right tool, but for the name of its server.
func TestWordsOfAPerson(t *testing.T) {
	t.Parallel()
	tools, names := realTools(t)
	for _, q := range lines(t, "testdata/questions.tsv") {
		if q[0] != "person" || q[1] != "asked" {
			continue
		}
		asked := map[string]bool{}
		splitStems(q[2], func(w string) { asked[w] = true })
		for _, right := range strings.Fields(q[3]) {
			tool := tools[slices.Index(names, right)]
			tool.readTerms(func(field int, w string) {
				if field <= fieldSummary && asked[w] && w != cutEndings(tool.Server) {
					t.Errorf("%q: %s says %q itself", q[2], right, w)
				}
			})
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"readTextFile":           "read text file",
		"API-get-block_children": "api get block children",
		"HTTPServer":             "http server",
		"open PRs, URLs":         "open prs urls",
		"Füße!":                  "füße",
		"":                       "",
	} {
		var got []string
		splitWords(text, func(w string) { got = append(got, w) })
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	for _, alike := range [][]string{
		{"list", "lists", "listed", "listing"},
		{"run", "runs", "running"},
		{"navigate", "navigates", "navigation", "navigating"},
		{"directory", "directories"},
		{"pr", "prs"},
	} {
		for _, w := range alike {
			if cutEndings(w) != cutEndings(alike[0]) {
				t.Errorf("%s becomes %s, and %s %s", w, cutEndings(w), alike[0], cutEndings(alike[0]))
			}
		}
	}
	for _, w := range []string{"status", "process", "css", "this", "dns", "és", "é"} {
		if cutEndings(w) == "" {
			t.Errorf("%s becomes nothing", w)
		}
	}
}

// TestTable holds that no line of the table is written so that it can never match.
func TestTable(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(synonymLines) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		left, right, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(right) == "" {
			t.Errorf("%q has no two sides", line)
		}
		for phrase := range strings.SplitSeq(left, ",") {
			var plain []string
			splitWords(phrase, func(w string) { plain = append(plain, w) })
			if len(plain) == 0 || len(plain) > longestPhrase || strings.Join(plain, " ") != strings.TrimSpace(phrase) {
				t.Errorf("%q in %q is no question's words", phrase, line)
			} else if w := plain[0]; len(plain) == 1 && (stopWords()[w] || fillers()[w]) {
				t.Errorf("%q in %q is a word that questions are read without", w, line)
			}
		}
	}
}

// TestOtherLanguages holds that words of other languages are found, with and without their accents and endings.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	x := New([]Tool{{Server: "a", Name: "create_directory"}, {Server: "a", Name: "delete_email"}, {Server: "b", Name: "search_web"}})
	for question, want := range map[string]int{"créer un dossier": 0, "creer dossier": 0, "neuen Ordner anlegen": 0, "borra el correo": 1, "lösch die Mail": 1, "im Netz suchen": 2, "busca": 2} {
		if hits, _ := x.Find(question, 5); len(hits) == 0 || hits[0].Tool != want {
			t.Errorf("%q: %v, want tool %d", question, hits, want)
		}
	}
}

func TestMisspelt(t *testing.T) {
	t.Parallel()
	x := New([]Tool{{Server: "a", Name: "take_screenshot"}, {Server: "a", Name: "list_repositories"}, {Server: "b", Name: "send"}})
	for question, want := range map[string]int{"screenshto": 0, "sreenshot": 0, "repositries": 1, "repos": 1, "SEND": 2} {
		if hits, _ := x.Find(question, 5); len(hits) != 1 || hits[0].Tool != want {
			t.Errorf("%q: %v, want tool %d", question, hits, want)
		}
	}
}

// TestOdd holds that nothing a server or a client says breaks the search.
func TestOdd(t *testing.T) {
	t.Parallel()
	if hits, weak := New(nil).Find("read file", 5); len(hits) != 0 || !weak {
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
	if hits, _ := x.Find("read", 0); len(hits) != 0 {
		t.Errorf("limit 0: %v", hits)
	}
	if hits, _ := x.Find("read", 5); len(hits) != 1 || hits[0].Tool != 0 {
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

func BenchmarkTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		readTable(synonymLines)
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
