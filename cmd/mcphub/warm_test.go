package main

import (
	"testing"

	"mcphub/children"
)

// What is told about a child that did not start is why it did not, told once:
// not that it waits for another try by now.
func TestWarmReason(t *testing.T) {
	t.Parallel()
	const broke = "the connection to h broke: refused"
	for _, c := range []struct {
		st   children.Status
		want string
	}{
		{children.Status{Err: "exited with status 3", Stderr: "one\ntwo\n"}, "exited with status 3; it last wrote: two"},
		{children.Status{Err: "waits for its turn: many children are starting", LastFailure: broke, Stderr: broke}, broke},
		{children.Status{Err: "crash loop, 5 failures in a row: " + broke, LastFailure: broke, Stderr: broke}, broke},
		{children.Status{Err: "cwd: /x is not a directory that can be entered"}, "cwd: /x is not a directory that can be entered"},
	} {
		if got := warmReason(c.st); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
