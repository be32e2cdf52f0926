package modern

import "testing"

// What a client answers a task that asks for roots, too, is made what the hub serves.
func TestRootsOfATask(t *testing.T) {
	t.Parallel()
	const served = `{"roots":[{"uri":"file:///in"}]}`
	for answers, want := range map[string][2]string{
		`{"q":{"action":"accept","content":{"roots":1.0}}}`: {},
		`{}`: {}, `7`: {},
		`{"q":{"action":"accept"},"r":{"roots":[]},"s":{"Roots":7}}`: {`{"q":{"action":"accept"},"r":` + served + `,"s":` + served + `}`, `{"q":{"action":"accept"}}`},
	} {
		if got := AnswersRoots([]byte(answers)); got != (want[0] != "") {
			t.Errorf("%s: there are roots in it: %t", answers, got)
		}
		if want[0] == "" {
			continue
		}
		if got := WithRoots([]byte(answers), []byte(served), true); string(got) != want[0] {
			t.Errorf("%s: %s", answers, got)
		}
		if got := WithRoots([]byte(answers), nil, false); string(got) != want[1] {
			t.Errorf("%s, of a child that is served none: %s", answers, got)
		}
	}
}
