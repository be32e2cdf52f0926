package jsonrpc

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/e2e/seeds"
)

// TestPlainMembersAreThoseOfTheDecoder: what is read fast is what the decoder reads, in objects that are broken in any way too.
func TestPlainMembersAreThoseOfTheDecoder(t *testing.T) {
	t.Parallel()
	rng := seeds.Rand(t)
	parts := []string{`{`, `}`, `[`, `]`, `,`, `:`, ` `, "\n", `"a"`, `"name"`, `"a\u0062"`, `"ä"`, "\"\xff\"", `"\ud800"`, `"x\q"`, "\"\x01\"", `1`, `-0.5e3`, `01`, `1x`, `tru`, `true`, `null`, `"open`,
		`"a":1`, `"b":{"c":[1,{}]}`, `"d": "long text of more than thirty-two bytes, and then some"`, `{"a":1,"a":2}`, strings.Repeat("[", 70) + strings.Repeat("]", 70), "\xef\xbb\xbf", `\`}
	read := func(raw []byte, members func(func(string, []byte) bool) error, most int) string {
		var b strings.Builder
		n := 0
		err := members(func(name string, value []byte) bool {
			n++
			fmt.Fprintf(&b, "%q %q at %d, ", name, value, cap(raw)-cap(value))
			return n < most
		})
		fmt.Fprintf(&b, "%v", err != nil)
		return b.String()
	}
	fast := 0
	for range 30_000 {
		raw := []byte{}
		if rng.IntN(4) > 0 {
			raw = append(raw, '{')
		}
		for range rng.IntN(9) {
			raw = append(raw, parts[rng.IntN(len(parts))]...)
			if rng.IntN(3) == 0 {
				raw = append(raw, ',')
			}
		}
		if rng.IntN(3) > 0 {
			raw = append(raw, '}')
		}
		most := 1 + rng.IntN(5)
		got := read(raw, func(yield func(string, []byte) bool) error { return Members(raw, yield) }, most)
		want := read(raw, func(yield func(string, []byte) bool) error {
			if len(raw) == 0 {
				return errNoObject
			}
			return tellMembers(raw, 0, yield)
		}, most)
		if got != want {
			t.Fatalf("%q: %s, and the decoder reads %s", raw, got, want)
		}
		if told, over := tellPlainMembers(raw, func(string, []byte) bool { return true }); over && told > 0 {
			fast++
		}
	}
	if fast < 100 {
		t.Errorf("%d objects were plain", fast)
	}
}
