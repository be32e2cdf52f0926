package main

import (
	"encoding/json"
	"strings"
	"testing"

	"mcphub/children/sandbox/seatbelt"
	"mcphub/e2e/seatbelttest"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// The project of a user of a Mac, and what lies beside it.
const (
	macHome    = "/Users/me"
	macProject = macHome + "/projects/app"
	macKept    = macProject + "/conf/hub.json"
)

// mac returns a disk with the files that cases name.
func mac() *seatbelttest.Disk {
	d := seatbelttest.NewDisk()
	for _, file := range []string{".ssh/id_ed25519", ".aws/credentials", ".netrc", ".bash_history", "outside/secret.txt", "outside/sub/x", "projects/app-two/x", "projects/other/x",
		"projects/app/src/main.go", "projects/app/README.md", "projects/app/conf/hub.json", "projects/app/sub/deep/x", "projects/app/package.json"} {
		d.Add("REGULAR-FILE", macHome+"/"+file)
	}
	d.Link(macProject+"/link", "../../outside")
	d.Link(macProject+"/root", "/")
	d.Link(macProject+"/etc", "/private/etc")
	return d
}

// TestCorporaInTheModelOfSeatbelt: of every case of the project's corpora, in every spelling that the opener tries, a process under a profile opens and
// changes what lies in its root, and nothing else. The control is a process without one. MCPHUB_LONG_CASES says how many cases; few are drawn.
func TestCorporaInTheModelOfSeatbelt(t *testing.T) {
	t.Chdir("../..") // where the corpora are
	text, err := seatbelt.Policy{
		Areas:  []seatbelt.Area{{Path: macProject, Dir: true, Read: true, Write: true, Execute: true}, {Path: "/usr", Dir: true, Read: true, Execute: true}},
		Closed: []seatbelt.Name{{Path: macKept}},
	}.Text()
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
	texts := world.CorpusOf(t, "validate", "rootsmgr", "internal", "hub", "children", "e2e")
	seeds.Rand(t).Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	all := len(texts)
	texts = texts[:min(all, world.LongCases(t, 400, 1_000_000))]
	fill := strings.NewReplacer("{project}", macProject, "{outside}", macHome+"/outside", "{home}", macHome, "{sibling}", macHome+"/projects/app-two")
	d, s := mac(), spellings{home: macHome}
	calls, outside, honest := 0, 0, 0
	for _, text := range texts {
		text = fill.Replace(text)
		document, err := json.Marshal(map[string]string{"path": text})
		if err != nil {
			t.Fatal(err)
		}
		if json.Valid([]byte(text)) {
			document = []byte(text)
		}
		for _, at := range s.paths(document, macProject) {
			for _, do := range []string{"read", "write", "remove", "create", "chmod", "run"} {
				calls++
				last := do != "remove" && do != "create"
				real, _ := d.Real(at, last)
				want := opens(do, real)
				for _, order := range []seatbelttest.Order{seatbelttest.SpecificWins, seatbelttest.LastWins} {
					m := seatbelttest.Machine{Disk: d, Profile: held, Order: order}
					if got := m.Allows(seatbelttest.Call{Do: do, Path: at}); got != want {
						t.Fatalf("%s %q, which is %q: %t (order %d, from %q)", do, at, real, got, order, text)
					}
				}
				if want {
					honest++
				} else if m := (seatbelttest.Machine{Disk: d, Profile: free}); m.Allows(seatbelttest.Call{Do: do, Path: at}) {
					outside++
				}
			}
		}
	}
	t.Logf("%d of %d strings, %d calls: %d lead outside and pass without a profile, %d lie in the root", len(texts), all, calls, outside, honest)
	if outside < calls/20 || honest < calls/20 {
		t.Error("too few lead outside, or inside: this shows nothing")
	}
}

// opens reports whether a call is to pass, by the path its target.
func opens(do, real string) bool {
	in := func(dir string) bool { return real == dir || strings.HasPrefix(real, dir+"/") }
	if in(macKept) {
		return false
	}
	switch do {
	case "read":
		return in(macProject) || in("/usr") || real == "/"
	case "run":
		return in(macProject) || in("/usr")
	case "remove", "create":
		return in(macProject) && real != macProject && !strings.HasPrefix(macKept, real+"/")
	}
	return in(macProject)
}
