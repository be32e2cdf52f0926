package strictjson

import "testing"

// TestError: the message has the pointer, quoted, and none if it is about the whole.
func TestError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{Message: "too long"}, "arguments: too long"},
		{Error{Pointer: "/a", Message: "too long"}, `arguments at "/a": too long`},
		{Error{Pointer: "/a\n\x1b[m", Message: "too long"}, `arguments at "/a\n\x1b[m": too long`},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}
