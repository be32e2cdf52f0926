package archtest

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A step of a call is taken if the call of its function stands in the hub.
var steps = []struct {
	step string
	name []string // of the functions
	on   string   // how what they are called on ends, in lower case
	at   map[string]string
}{
	{"scan", []string{"Scan"}, "checker", map[string]string{"hub/call toolTarget.scanArguments": ""}},
	{"scan", []string{"ScanURI"}, "checker", map[string]string{"hub/call Sender.SendAboutResource": ""}},
	{"scan", []string{"ScanPrompt"}, "checker", map[string]string{"hub/call Sender.SendPrompt": ""}},
	{"scan", []string{"ScanCompletion"}, "checker", map[string]string{"hub/call Sender.sendCompletion": ""}},
	{"scan", []string{"ScanParams"}, "checker", map[string]string{"hub/call Sender.sendExtension": ""}},
	{"scan", []string{"scanArguments"}, "t", map[string]string{"hub/call attempt.scanAndAwaitRoots": "whatever the target"}},
	{"judge", []string{"Judge"}, "checker", map[string]string{
		"hub/call Sender.judgeAttempt":    "",
		"hub/catalog Tool.CommonDecision": "the verdict of every call of a tool in which there is nothing to judge, made once",
	}},
	{"judge", []string{"judgeAttempt"}, "", map[string]string{
		"hub/call attempt.judgeRequest":   "twice: again by what the client has said when it was asked once more",
		"hub/call attempt.ensureConfined": "a root has been replaced, and another process serves the call",
		"hub/call Sender.judgeAgain":      "a call that was made, whose kept result is read after a reload",
		"hub/call Sender.judgeBy":         "a request that is with its child, by roots that the child asks for now",
		"hub/call allowedCall.Revalidate": "before a request is sent once more: the answers may have taken long",
	}},
	{"record", []string{"WriteDecision"}, "records", map[string]string{"hub/call Call.recordDecision": ""}},
	{"record", []string{"recordDecision"}, "", map[string]string{
		"hub/call Call.JudgeAndSend": "",
		"hub/call Call.sendAllowed":  "a denial after it was sent, when the child asked for more: the decision to send it has its line, and this is another one",
	}},
	{"record", []string{"Enqueue"}, "records", map[string]string{"hub/call fastCall.recordAndSend": "in a group with others: what is sent without waiting"}},
	{"send", []string{"Call", "Notify", "StartCall"}, "lease", map[string]string{
		"hub/call allowedCall.sendAndAwait":   "",
		"hub/rounds dialogue.runRounds":       "each round with a child without a handshake, judged again",
		"hub/call Call.sendNotification":      "a notification",
		"hub/call fastCall.sendAsync":         "starts it and does not wait; if the pipe is full, allowedCall.sendAndAwait does",
		"hub/call Sender.RelayAboutTask":      "about a task, which its owner may ask about: there is nothing to judge in an id",
		"hub Session.forwardTaskNews":         "news of a task that the client made for the child",
		"hub/tasks Table.Adopt":               "ends a task that nobody wants",
		"hub/tasks Table.listPage":            "the list of tasks",
		"hub/subscribe stream.unsubscribeAll": "nobody follows the resource any more",
	}},
}

// twice are functions that take a step in one of two ways, or again.
var twice = []string{"hub/call attempt.judgeRequest"}

// TestStepsAreTakenInOnePlace: a call is scanned, judged, recorded and sent by one body of
// code. The one who adds another place has to say here why it is one.
func TestStepsAreTakenInOnePlace(t *testing.T) {
	t.Parallel()
	found := make([]map[string]int, len(steps))
	for i := range found {
		found[i] = map[string]int{}
	}
	eachCall(t, "hub", func(at string, s *ast.SelectorExpr) {
		on := strings.ToLower(types.ExprString(s.X))
		for i, step := range steps {
			if slices.Contains(step.name, s.Sel.Name) && strings.HasSuffix(on, step.on) && (step.on != "t" || on == "t") {
				found[i][at]++
			}
		}
	})
	for i, step := range steps {
		for at, n := range found[i] {
			if n > 1 && !slices.Contains(twice, at) {
				t.Errorf("%s: %s calls %v %d times", step.step, at, step.name, n)
			}
		}
		want := slices.Sorted(maps.Keys(step.at))
		if got := slices.Sorted(maps.Keys(found[i])); !slices.Equal(got, want) {
			t.Errorf("%s: %v is called in\n%q, want\n%q", step.step, step.name, got, want)
		}
	}
}

// eachCall gives each call of a method or of another package's function below a folder,
// tests aside, with the function that it stands in.
func eachCall(t *testing.T, below string, each func(at string, s *ast.SelectorExpr)) {
	t.Helper()
	eachSource(t, func(s source) {
		folder := s.path[:max(0, strings.LastIndexByte(s.path, '/'))]
		if strings.HasSuffix(s.path, "_test.go") || folder != below && !strings.HasPrefix(folder, below+"/") || strings.HasSuffix(folder, "test") {
			return
		}
		for _, d := range s.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			at := folder + " "
			if fn.Recv != nil {
				at += receiver(fn) + "."
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
						each(at+fn.Name.Name, sel)
					}
				}
				return true
			})
		}
	})
}

// eras are the expressions that tell the era of a client, or a request of one era.
var eras = []string{"modern.IsModern(", "modern.DeclaresCapabilities(", "modern.ReadMeta(", "modern.Version", "*modern.Client", "modernOf(", ".Era()", "modern.Era", "handshake.Era", "handshaken.Load()", ".(*handshake."}

// adapters are the files of the hub that may know the era of a client, and why. What knows
// the era of a child is another matter.
var adapters = map[string]string{
	"hub/modern_session.go":  "serves requests of 2026-07-28",
	"hub/stdio.go":           "a front: takes requests of both eras from one stream",
	"hub/http.go":            "a front: tells requests of both eras apart",
	"hub/subscriptions.go":   "subscriptions/listen, which only one era has",
	"hub/child_callbacks.go": "what belongs to no request goes only to a client that has said initialize",
	"hub/report.go":          "reports: the word for the era",
	"hub/status/status.go":   "reports: the word for the era of a child",
	"hub/explain.go":         "reports: the word for the era",
}

// TestOnlyAdaptersKnowTheEra: between the fronts and the children nothing asks for the era
// of a client, nor for the transport that a request came on.
func TestOnlyAdaptersKnowTheEra(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	eachSource(t, func(s source) {
		if !strings.HasPrefix(s.path, "hub/") || strings.HasSuffix(s.path, "_test.go") || strings.HasPrefix(s.path, "hub/modern/") || strings.HasPrefix(s.path, "hub/handshake/") {
			return
		}
		if containsAny(code(s), eras) {
			found[s.path] = true
		}
		for _, i := range s.file.Imports {
			if i.Path.Value == `"`+module+`/hub/httpfront"` && s.path != "hub/http.go" && s.path != "hub/modern_session.go" {
				t.Errorf("%s imports the HTTP front: only hub/http.go opens sessions for it, and hub/modern_session.go serves its requests without one", s.path)
			}
		}
	})
	for path := range found {
		if adapters[path] == "" {
			t.Errorf("%s asks for the era of a client: the adapters answer that (hub/modern, hub/handshake)", path)
		}
	}
	for path := range adapters {
		if !found[path] {
			t.Errorf("%s does not ask for the era of a client any more: take it out of the list", path)
		}
	}
}

// code returns a source without its comments.
func code(s source) string {
	text := []byte(s.text)
	for _, g := range s.file.Comments {
		for i := s.set.Position(g.Pos()).Offset; i < s.set.Position(g.End()).Offset; i++ {
			text[i] = ' '
		}
	}
	return string(text)
}
