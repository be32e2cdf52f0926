package catalog

import (
	"bytes"
	"testing"
)

func TestRenamedKeepsEverythingElse(t *testing.T) {
	t.Parallel()
	def := []byte(`{"x-first":1e400, "name" : "old\u0041", "inputSchema":{"$schema":"s","n":9007199254740993,"name":"old"},"name2":"old"}`)
	want := []byte(`{"x-first":1e400, "name" : "new__old", "inputSchema":{"$schema":"s","n":9007199254740993,"name":"old"},"name2":"old"}`)
	if got := withKey(def, "name", "new__old"); !bytes.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
