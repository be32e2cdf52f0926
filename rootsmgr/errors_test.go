package rootsmgr_test

import (
	"strings"
	"testing"

	. "mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/rootsmgr/rootstest"
)

// What get-roots says speaks of no denial, and names the client, whose name may
// hold anything.
func TestMeaning(t *testing.T) {
	t.Parallel()
	all := NoRootsPolicy{Unsupported: true, Empty: true, Failed: true}
	for _, c := range []Case{CaseFailed, CaseEmpty, CaseUnsupported} {
		for _, v := range []View{{Case: c, Open: true, ClientName: "Odd\x1b\n"}, FallbackView(guard.OS{}, 1, Fallback{}, c, all, ErrNoAnswer), {Case: c}} {
			got := v.Meaning()
			if strings.Contains(got, "refused") || strings.ContainsAny(got, "\x1b\n") || !strings.HasSuffix(got, ".") {
				t.Errorf("%v: %q", c, got)
			}
			if v.Open && !strings.Contains(got, "no boundary is enforced (roots.when."+c.String()+` is "allow")`) {
				t.Errorf("%v: %q", c, got)
			}
		}
	}
}

// A server that is served no roots reads what to do, and nothing of what the hub does not enforce.
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
	at := func(o Origin, uri string) *Snapshot { return NewSnapshot(f, 1, o, []Entry{{URI: uri}}) }
	stale := View{Case: CaseKnown, Snapshot: at(OriginAsked, "file:///a"), Stale: true, Err: ErrNoAnswer}
	for _, tt := range []struct {
		v    View
		want []string
	}{
		{View{Case: CaseKnown, Snapshot: at(OriginAsked, "file:///a")}, []string{"the client gave", "open the folder"}},
		{stale, []string{"did not answer", ErrNoAnswer.Error()}},
		{View{Case: CaseKnown, Snapshot: at(OriginFlag, "/a")}, []string{"--roots"}},
		{View{Case: CaseKnown, Snapshot: at(OriginEnvironment, "/a"), Err: ErrNoAnswer}, []string{EnvRoots, "no usable roots"}},
		{View{Case: CaseKnown, Snapshot: at(OriginProject, "/a")}, []string{EnvProjectRoot}},
		{View{Case: CaseEmpty, Stale: true, Err: ErrNoAnswer}, []string{"no folder is open", "roots.when.empty"}},
		{View{Case: CaseUnsupported}, []string{"The client gives no roots", "--roots DIR", "roots.when.unsupported"}},
		{View{Case: CaseUnsupported, Open: true}, []string{"No boundary", "whatever the roots"}}, // a path that nobody can resolve
		{View{Err: ErrNoAnswer}, []string{"roots.when.failed"}},
		{FallbackView(f, 1, Fallback{}, CaseFailed, NoRootsPolicy{}, ErrMalformed), []string{"declared roots", ErrMalformed.Error(), "roots.when.failed"}},
		{FallbackView(f, 1, Fallback{OriginConfig, []Entry{{URI: "/x"}}}, CaseUnsupported, NoRootsPolicy{Unsupported: true, Empty: true}, nil), []string{"none of the 1", "roots.fallback"}},
		{AnsweredView(at(OriginWithCall, "file:///x"), NoRootsPolicy{}), []string{"1 roots, none", "get-roots"}},
		{View{Case: CaseUnsupported, Denied: true}, []string{"The client gives no roots and its token names none", "http.when.noRoots", "http.tokens[].roots"}},
		{View{Case: CaseEmpty, Denied: true}, []string{"no folder is open", "open a folder", "http.when.noRoots", "http.tokens[].roots"}},
		{FallbackView(f, 1, Fallback{}, CaseFailed, NoRootsPolicy{Failed: true, Denied: true}, ErrMalformed), []string{"declared roots", ErrMalformed.Error(), "reconnect the client, or add", "http.tokens[].roots"}},
	} {
		for _, want := range tt.want {
			if why := tt.v.Why(); !strings.Contains(why, want) || !strings.HasSuffix(why, ".") {
				t.Errorf("%q lacks %q", why, want)
			}
		}
	}
}
