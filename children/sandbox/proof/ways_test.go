package proof_test

import (
	"strings"
	"testing"

	"mcphub/children/sandbox/proof"
	"mcphub/children/sandbox/seatbelt"
	"mcphub/e2e/seatbelttest"
)

// outcome returns what comes of the ways, each of which fails if it is named.
func outcome(fails func(w proof.Way) bool) (came []string) {
	for _, w := range proof.Ways() {
		text := ""
		if fails(w) {
			text = "operation not permitted"
		}
		came = append(came, text)
	}
	return came
}

func none(proof.Way) bool     { return false }
func wayOut(w proof.Way) bool { return !w.Honest }
func every(proof.Way) bool    { return true }
func but(name string, fails func(proof.Way) bool, is bool) func(proof.Way) bool {
	return func(w proof.Way) bool {
		if w.Name == name {
			return is
		}
		return fails(w)
	}
}

// TestJudge: one way out that passes, one honest call that fails, or a control that shows nothing, and the proof fails.
func TestJudge(t *testing.T) {
	t.Parallel()
	ways := proof.Ways()
	if err := proof.Judge(ways, outcome(none), outcome(wayOut)); err != nil {
		t.Fatal(err)
	}
	outs := 0
	for _, w := range ways {
		if !w.Honest {
			outs++
		}
		if err := proof.Judge(ways, outcome(none), outcome(but(w.Name, wayOut, w.Honest))); err == nil || !strings.Contains(err.Error(), w.Name) {
			t.Errorf("%s comes out otherwise: %v", w.Name, err)
		}
		if err := proof.Judge(ways, outcome(but(w.Name, none, true)), outcome(wayOut)); (err == nil) != w.Optional {
			t.Errorf("%s fails without a profile: %v", w.Name, err)
		}
	}
	if outs < 20 {
		t.Errorf("only %d ways out", outs)
	}
	for name, came := range map[string][2][]string{
		"nothing is held":     {outcome(none), outcome(none)},
		"everything is held":  {outcome(none), outcome(every)},
		"no calls were made":  {nil, nil},
		"a process ended":     {outcome(none), outcome(wayOut)[1:]},
		"the control is held": {outcome(wayOut), outcome(wayOut)},
	} {
		if err := proof.Judge(ways, came[0], came[1]); err == nil {
			t.Errorf("%s, and the proof passes", name)
		}
	}
}

// TestWaysInTheModel: what a Mac tries is refused, or passes, in the model as it is to be on the Mac. The control is the model without a profile.
func TestWaysInTheModel(t *testing.T) {
	t.Parallel()
	const in, out = "/private/tmp/p/in", "/private/tmp/p/out"
	d := seatbelttest.NewDisk()
	d.Add("DIRECTORY", in+"/dir")
	d.Add("REGULAR-FILE", in+"/a", in+"/b", in+"/made", in+"/dir/made", in+"/kept/hub.json", out+"/secret", out+"/written", out+"/linked", out+"/cloned", out+"/moved", out+"/swapped",
		out+"/exchanged", out+"/mode", out+"/flags", out+"/attribute", out+"/program")
	d.Add("SOCKET", out+"/sock")
	d.Link(in+"/secret", "../out/secret")
	d.Link(in+"/link", "../out")
	d.Link(in+"/to a", "a")
	policy := seatbelt.Policy{
		Areas:   []seatbelt.Area{{Path: in, Dir: true, Read: true, Write: true, Execute: true}, {Path: "/bin", Dir: true, Read: true, Execute: true}},
		Network: true, Closed: []seatbelt.Name{{Path: in + "/kept/hub.json"}, {Path: in, Missing: "state/hub.json"}},
	}
	if withheld := proof.Withheld(in); withheld[0] != policy.Closed[0].Path || withheld[1] != in+"/"+policy.Closed[1].Missing {
		t.Fatal("another path is withheld: ", withheld)
	}
	text, err := policy.Text()
	if err != nil {
		t.Fatal(err)
	}
	held, err := seatbelttest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	free, err := seatbelttest.Parse("(version 1)(allow default)")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range proof.Ways() {
		c := seatbelttest.Call(w.Fill(in, out, "1"))
		for _, order := range []seatbelttest.Order{seatbelttest.SpecificWins, seatbelttest.LastWins} {
			m := seatbelttest.Machine{Disk: d, Profile: held, Order: order}
			if got := m.Allows(c); got != w.Honest {
				t.Errorf("a process that %s: %t (order %d)", w.Name, got, order)
			}
			if m.Profile = free; !m.Allows(c) {
				t.Errorf("control: a process that %s fails", w.Name)
			}
		}
	}
}
