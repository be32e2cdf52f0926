package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const evil = "a\nFORGED\rb\x1b[31mc\u009bd\u2028e\u202ef\U000e0041g\x7f"

type named string

// An argument makes up no line and no colour, of whatever type it is; the format may.
func TestPrintfKeepsToItsFormat(t *testing.T) {
	t.Parallel()
	for _, arg := range []any{evil, errors.New(evil), named(evil), []string{evil}, struct{ A string }{evil}, []byte(evil), map[string]string{evil: evil}, &evil2{}} {
		var b bytes.Buffer
		if err := Printf(&b, "x\n%v|%5d\n", arg, 7); err != nil {
			t.Fatal(err)
		}
		if strings.Count(b.String(), "\n") != 2 || strings.ContainsAny(b.String(), "\r\x1b\u009b\u2028\u202e\x7f\U000e0041") || !strings.HasSuffix(b.String(), "|    7\n") {
			t.Errorf("%T: %q", arg, b.String())
		}
		var raw bytes.Buffer // the control
		if fmt.Fprintf(&raw, "x\n%s|\n", arg); !strings.ContainsAny(raw.String(), "\r\x1b") {
			t.Errorf("%T: the text is no attack: %q", arg, raw.String())
		}
	}
	var b bytes.Buffer
	if err := Printf(&b, "%-6s|%q|%v\n", "né", "a\nb", Lines{"one\ntwo" + "\x1b[1m", "  "}); err != nil || b.String() != "né    |\"a\\nb\"|one\n  two\\x1b[1m\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// A bounded text is cut and escaped, and then padded.
func TestPrintfBoundsATextByItsFormat(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Printf(&b, "%.3s|%-8.2s|%.9s", "abcd", "\x1b[1m", named("é\n")); err != nil || b.String() != `abc…|\x1b[…  |é\n` {
		t.Errorf("%q, %v", b.String(), err)
	}
	if got := Sprintf("%.2s", evil); got != `a\n…` {
		t.Errorf("%q", got)
	}
}

type evil2 struct{}

func (*evil2) String() string { return evil }

// What is JSON stays the same value, and holds nothing unseen.
func TestJSONHoldsNothingUnseen(t *testing.T) {
	t.Parallel()
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return JSON(b, map[string]string{evil: evil}) },
		func(b *bytes.Buffer) error { return JSONLine(b, map[string]string{evil: evil}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[evil] != evil || strings.ContainsAny(b.String(), "\r\x1b\u009b\u2028\u202e\x7f\U000e0041") {
			t.Errorf("%q, %v", b.String(), err)
		}
	}
}

func TestErrorLines(t *testing.T) {
	t.Parallel()
	joined := errors.Join(errors.New("one"), errors.New("two"))
	for want, err := range map[string]error{
		"[one]": errors.New("one"), "[one two]": joined, "[in: one two!]": fmt.Errorf("in: %w!", joined), "[a\nb]": errors.New("a\nb"),
		"[a\nb two]": errors.Join(errors.New("a\nb"), errors.New("two")), "[one and two]": fmt.Errorf("%w and %w", errors.New("one"), errors.New("two")),
	} {
		if got := fmt.Sprint(ErrorLines(err)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := ErrorLines(errors.Join(errors.New("a\nb"), errors.New("two"))); !slices.Equal(got, []string{"a\nb", "two"}) {
		t.Errorf("%q", got)
	}
}

// A cell of a table is one line.
func TestACellMakesNoRow(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	table := NewTable(&b)
	table.Row(evil, "x")
	if err := table.Flush(); err != nil || strings.Count(b.String(), "\n") != 1 || strings.ContainsAny(b.String(), "\x1b\u2028") {
		t.Errorf("%q, %v", b.String(), err)
	}
	b.Reset()
	Line(&b, "> ", evil)
	if strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%q", b.String())
	}
}
