package rootsmgr_test

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/e2e/rootstest"
	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
)

// What get-roots says speaks of no denial, and names the client, whose name may
// hold anything.
func TestMeaning(t *testing.T) {
	t.Parallel()
	all := NoRootsPolicy{Unsupported: true, Empty: true, Failed: true}
	for _, c := range []Case{CaseFailed, CaseEmpty, CaseUnsupported} {
		for _, v := range []RootsView{{Case: c, Open: true, ClientName: "Odd\x1b\n"}, FallbackView(guard.OS{}, 1, Fallback{}, c, all, ErrNoAnswer), {Case: c}} {
			got := v.Meaning()
			if strings.Contains(got, "refused") || strings.ContainsAny(got, "\x1b\n") || !strings.HasSuffix(got, ".") {
				t.Errorf("%v: %q", c, got)
			}
			if v.Open && !strings.Contains(got, "no boundary is enforced (roots.when."+c.String()) {
				t.Errorf("%v: %q", c, got)
			}
		}
	}
}

// A server that is served no roots reads what to do, and none of what the hub does not enforce.
func TestWhyNone(t *testing.T) {
	t.Parallel()
	all := NoRootsPolicy{Unsupported: true, Empty: true, Failed: true}
	for _, c := range []Case{CaseFailed, CaseEmpty, CaseUnsupported} {
		v := FallbackView(guard.OS{}, 1, Fallback{}, c, all, ErrNoAnswer)
		if !strings.Contains(v.Meaning(), "no boundary is enforced") {
			t.Fatalf("the control: %q", v.Meaning())
		}
		if got := v.WhyNone(); strings.Contains(got, "enforced") || !strings.Contains(got, "open a folder") && !strings.Contains(got, "--roots DIR") || !strings.HasSuffix(got, ".") {
			t.Errorf("%v: %q", c, got)
		}
		v.Open = false
		if v.WhyNone() != v.Meaning() {
			t.Errorf("%v: %q", c, v.WhyNone())
		}
	}
}

func TestWhySaysWhatToDo(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/a/"})
	at := func(o Origin, uri string) *Snapshot { return NewSnapshot(f, 1, o, []RootEntry{{URI: uri}}) }
	stale := RootsView{Case: CaseKnown, Snapshot: at(OriginAsked, "file:///a"), Stale: true, Err: ErrNoAnswer}
	for _, tt := range []struct {
		v    RootsView
		want []string
	}{
		{RootsView{Case: CaseKnown, Snapshot: at(OriginAsked, "file:///a")}, []string{"the client gave", "open the folder"}},
		{stale, []string{"did not answer", ErrNoAnswer.Error()}},
		{RootsView{Case: CaseKnown, Snapshot: at(OriginFlag, "/a")}, []string{"--roots"}},
		{RootsView{Case: CaseKnown, Snapshot: at(OriginEnvironment, "/a"), Err: ErrNoAnswer}, []string{EnvRoots, "no usable roots"}},
		{RootsView{Case: CaseKnown, Snapshot: at(OriginProject, "/a")}, []string{EnvProjectRoot}},
		{RootsView{Case: CaseEmpty, Stale: true, Err: ErrNoAnswer}, []string{"no folder is open", "roots.when.empty"}},
		{RootsView{Case: CaseUnsupported}, []string{"The client gives no roots", "--roots DIR", "roots.when.unsupported"}},
		{RootsView{Case: CaseUnsupported, Open: true}, []string{"No boundary", "whatever the roots"}}, // a path that no one can resolve
		{RootsView{Err: ErrNoAnswer}, []string{"roots.when.failed"}},
		{FallbackView(f, 1, Fallback{}, CaseFailed, NoRootsPolicy{}, ErrMalformed), []string{"declared roots", ErrMalformed.Error(), "roots.when.failed"}},
		{FallbackView(f, 1, Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: "/x"}}}, CaseUnsupported, NoRootsPolicy{Unsupported: true, Empty: true}, nil), []string{"none of the 1", "roots.fallback"}},
		{AnsweredView(at(OriginWithCall, "file:///x"), NoRootsPolicy{}), []string{"1 roots, none", "get-roots"}},
		{RootsView{Case: CaseUnsupported, Denied: true}, []string{"The client gives no roots and its token names none", "http.when.noRoots", "http.tokens[].roots"}},
		{RootsView{Case: CaseEmpty, Denied: true}, []string{"no folder is open", "open a folder", "http.when.noRoots", "http.tokens[].roots"}},
		{FallbackView(f, 1, Fallback{}, CaseFailed, NoRootsPolicy{Failed: true, Denied: true}, ErrMalformed), []string{"declared roots", ErrMalformed.Error(), "reconnect the client, or add", "http.tokens[].roots"}},
	} {
		for _, want := range tt.want {
			if why := tt.v.Why(); !strings.Contains(why, want) || !strings.HasSuffix(why, ".") {
				t.Errorf("%q lacks %q", why, want)
			}
		}
	}
}

// What is said of each case, word by word: to a person, and to a server that is served no roots.
func TestWords(t *testing.T) {
	t.Parallel()
	const cures = "start mcphub with --roots DIR, set MCPHUB_ROOTS or roots.fallback in hub.json"
	f := rootstest.NewFS(t, platform.Linux, []string{"/a/"})
	at := func(o Origin, uri string) *Snapshot { return NewSnapshot(f, 1, o, []RootEntry{{URI: uri}}) }
	all := NoRootsPolicy{Unsupported: true, Empty: true, Failed: true}
	asked, top := at(OriginAsked, "file:///a"), at(OriginCeiling, "/a")
	gone := Fallback{Origin: OriginConfig, Entries: []RootEntry{{URI: "/gone"}}}
	for _, tc := range []struct {
		v             RootsView
		meaning, none string // none: "" for the same
	}{
		{RootsView{Case: CaseKnown, Snapshot: asked}, "The roots are those that the client gave: open the folder there to add it.", ""},
		{RootsView{Case: CaseKnown, Snapshot: asked, Ceiling: top.Guard()}, "The roots are those that the client gave, as far as its token reaches: open the folder there to add it, " +
			"and where it is none of the token's, add the directory to roots of the token in http.tokens of hub.json.", ""},
		{RootsView{Case: CaseKnown, Snapshot: top, Ceiling: top.Guard()}, "The client has named no folder of its own, so its token's directories hold: " +
			"add the directory to roots of the token in http.tokens of hub.json.", ""},
		{RootsView{Case: CaseEmpty}, `The client answered that no folder is open (an empty list of roots): open a folder in the client, or set roots.when.empty to "allow" in hub.json.`, ""},
		{RootsView{Case: CaseEmpty, Open: true}, `The client answered that no folder is open (an empty list of roots), so no boundary is enforced (roots.when.empty is "allow"): open a folder in the client to have one.`,
			"The client answered that no folder is open (an empty list of roots): open a folder in the client."},
		{RootsView{Case: CaseUnsupported}, "The client gives no roots and no fallback is configured: " + cures + `, or set roots.when.unsupported to "allow".`, ""},
		{RootsView{Case: CaseUnsupported, Open: true}, `The client gives no roots and no fallback is configured, so no boundary is enforced (roots.when.unsupported): to have one ` + cures + ".",
			"The client gives no roots and no fallback is configured: " + cures + "."},
		{RootsView{}, "No roots are known: " + cures + `, or set roots.when.failed to "allow".`, ""},
		{RootsView{Snapshot: asked}, "No roots are known: " + cures + `, or set roots.when.failed to "allow".`, ""},
		{RootsView{Snapshot: asked, Err: ErrMalformed}, "The client declared roots but did not give them (the client's answer is no list of roots): call again, reconnect the client, " + cures +
			`, or set roots.when.failed to "allow".`, ""},
		{FallbackView(f, 1, Fallback{}, CaseFailed, all, ErrMalformed), "The client declared roots but did not give them (the client's answer is no list of roots), " +
			`so no boundary is enforced (roots.when.failed is "allow"): call again, reconnect the client, ` + cures + ".",
			"The client declared roots but did not give them (the client's answer is no list of roots): call again, reconnect the client, " + cures + "."},
		{AnsweredView(at(OriginAsked, "file:///gone"), NoRootsPolicy{}), "The client gave 1 roots, none of which can be used (get-roots says why): open a local folder that exists, " + cures +
			`, or set roots.when.failed to "allow".`, ""},
		{FallbackView(f, 1, gone, CaseUnsupported, NoRootsPolicy{}, nil), "The client gave no roots, and none of the 1 in roots.fallback in hub.json can be used (get-roots says why): name directories that exist, " +
			cures + `, or set roots.when.failed to "allow".`, ""},
		{NewManager(nil, Fallback{}, Settings{}, f, zerolog.Nop()).StandInView(), "The client has given no roots with its calls: " + cures + `, or set roots.when.failed to "allow".`, ""},
	} {
		if tc.none == "" {
			tc.none = tc.meaning
		}
		if meaning, none := tc.v.Meaning(), tc.v.WhyNone(); meaning != tc.meaning || none != tc.none {
			t.Errorf("%q, want %q; to a server %q, want %q", meaning, tc.meaning, none, tc.none)
		}
	}
}

// A denial names the root that would have contained the path, and says whether it is enough to make it.
func TestWhyNot(t *testing.T) {
	t.Parallel()
	f := rootstest.NewFS(t, platform.Linux, []string{"/p/gen => /out", "/out/"})
	v := RootsView{Case: CaseKnown, Snapshot: NewSnapshot(f, 1, OriginFlag, []RootEntry{{URI: "/p"}, {URI: "/p/gen"}, {URI: "/gone"}})}
	for path, want := range map[string]string{
		"/gone/x":  `The root "/gone" was skipped: it does not exist; it counts as soon as it does. `,
		"/p/gen/x": `The root "/p/gen" was skipped: it is a link inside "/p", where servers may write, and leads out of that to "/out". `,
		"/x":       "",
	} {
		if got := v.WhyNot(path); got != want+v.Why() {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// What has no name is called as what opens nothing.
func TestNames(t *testing.T) {
	t.Parallel()
	for c, want := range map[Case]string{CaseFailed: "failed", CaseKnown: "known", CaseEmpty: "empty", CaseUnsupported: "unsupported", CaseUnsupported + 1: "failed", 255: "failed"} {
		if c.String() != want {
			t.Errorf("case %d: %q", c, c)
		}
	}
	for o, want := range map[Origin]string{OriginNone: "none", OriginAsked: "asked", OriginCeiling: "ceiling", OriginEntry: "entry", OriginGuess: "project (guessed)", OriginGuess + 1: "none", 255: "none"} {
		if o.String() != want {
			t.Errorf("origin %d: %q", o, o)
		}
	}
	f := rootstest.NewFS(t, platform.Linux, []string{"/a/"})
	for o, want := range map[Origin]string{OriginAsked: "known", OriginWithCall: "known", OriginFlag: "fallback", OriginConfig: "fallback", OriginCeiling: "ceiling"} {
		v := RootsView{Case: CaseKnown, Snapshot: NewSnapshot(f, 1, o, []RootEntry{{URI: "file:///a"}})}
		if v.Word() != want {
			t.Errorf("known by %s: %q", o, v.Word())
		}
		if v.Case = CaseFailed; v.Word() != "failed" {
			t.Errorf("failed by %s: %q", o, v.Word())
		}
	}
}
