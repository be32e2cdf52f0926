package reference

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMark(t *testing.T) {
	t.Parallel()
	for _, r := range []Ref{{Keyring, "X"}, {Input, "svc/user-1.a_b"}, {File, "/a b/${root}/%41+c}\n\"é"}, {File, "~/x"}} {
		text := "before " + r.Mark() + r.Mark() + " after"
		if got := All(text); !slices.Equal(got, []Ref{r, r}) {
			t.Errorf("%q: %q", r, got)
		}
		if got := Show(text); got != "before "+r.String()+r.String()+" after" {
			t.Errorf("%q is shown as %q", r, got)
		}
		if got := Show(fmt.Sprintf("%q", r.Mark())); got != `"`+r.String()+`"` {
			t.Errorf("%q, quoted, is shown as %q", r, got)
		}
		if got := Blank(text, "w"); got != "before ww after" {
			t.Errorf("%q: %q", r, got)
		}
		if inner := strings.Trim(r.Mark(), "\x00"); strings.ContainsAny(inner, "${}/\\\" \n\x00") || !Valid(text) || !Has(text) {
			t.Errorf("the mark of %q holds what others look for: %q", r, inner)
		}
	}
}

// A value is never looked into, and what is no mark is refused.
func TestReplace(t *testing.T) {
	t.Parallel()
	mark, other := Ref{Keyring, "X"}.Mark(), Ref{Keyring, "Z"}.Mark()
	got, err := Replace("a"+mark+"b", func(Ref) (string, error) { return "${keyring:Y}" + other, nil })
	if err != nil || got != "a${keyring:Y}"+other+"b" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Replace(mark, func(Ref) (string, error) { return "", errors.New("none") }); err == nil || err.Error() != "none" {
		t.Error(err)
	}
	for _, odd := range []string{"\x00", "a\x00b\x00", mark + "\x00", "\x00keyring:X", "\x00other:X\x00", "\x00keyring\x00", "\x00file:%zz\x00"} {
		if Valid(odd) || len(All(odd)) > 1 {
			t.Errorf("%q is valid", odd)
		}
		if got := Blank(odd, "w"); got != odd {
			t.Errorf("%q became %q", odd, got)
		}
	}
	if got := Show("${keyring:X}"); got != "${keyring:X}" || Has(got) || !Valid(got) {
		t.Error("a text without a mark is changed")
	}
}

func TestWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"${keyring:X}": true, "a${file:x": true, "${input:}": true, "${env:X}": false, "$${keyring:X}": false, "keyring:X": false, "": false,
	} {
		if Written(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"X", "github-token", "svc/user", "_a.b", strings.Repeat("x", maxName)} {
		if bad := CheckName(good); bad != "" {
			t.Errorf("%q %s", good, bad)
		}
	}
	for _, name := range []string{"", "a b", "a:b", "-x", "/x", "ä", "a\x00", "a}", strings.Repeat("x", maxName+1)} {
		if CheckName(name) == "" {
			t.Errorf("%q is a name", name)
		}
	}
}
