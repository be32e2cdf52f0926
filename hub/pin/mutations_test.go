package pin_test

import (
	"encoding/json"
	"os"
	"testing"

	"mcphub/hub/pin"
)

// testdata/mutations.json has 200 changes of definitions in ten kinds, by an author who did not know the comparison. Each is found. What
// changes structure, names or characters grows if it gives more. Of paraphrased orders a part is found, and honest changes of a
// definition grow in nothing.
func TestMutations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/mutations.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Kind, Why string
		Was, Now  json.RawMessage
		Grows     bool
	}
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 200 {
		t.Fatalf("%d cases, %v", len(all), err)
	}
	paraphrased, found := 0, 0
	for i, m := range all {
		changes := pin.Compare(serverOf(t, offering(string(m.Was))), serverOf(t, offering(string(m.Now))))
		grows, told := false, ""
		for _, c := range changes {
			grows = grows || c.Grows
			told += "\n\t" + c.Text()
		}
		if len(changes) == 0 {
			t.Errorf("%d, %s (%s): it is not found", i, m.Kind, m.Why)
		}
		if m.Kind == "orders-paraphrased" {
			paraphrased++
			if grows {
				found++
			}
			continue
		}
		if grows != m.Grows {
			t.Errorf("%d, %s (%s): grows %v, want %v:%s", i, m.Kind, m.Why, grows, m.Grows, told)
		}
	}
	if found < paraphrased/4 {
		t.Errorf("of %d paraphrased orders only %d grow", paraphrased, found)
	}
	t.Logf("of %d paraphrased orders %d grow", paraphrased, found)
}
