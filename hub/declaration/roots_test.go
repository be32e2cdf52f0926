package declaration

import (
	"errors"
	"testing"

	"mcphub/rootsmgr"
)

func TestReadRoots(t *testing.T) {
	t.Parallel()
	page, err := ReadRoots([]byte(`{"roots":[{"uri":"file:///a","name":"A","x":1},{"uri":"file:///b","name":null},{"uri":7},"file:///c",{"name":"no uri"},{"uri":"file:///d"}],"nextCursor":"n"}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Entries) != 3 || page.Entries[0] != (rootsmgr.RootEntry{URI: "file:///a", Name: "A"}) || page.Entries[1].Name != "" || page.Entries[2].URI != "file:///d" {
		t.Errorf("entries: %+v", page.Entries)
	}
	if len(page.Skipped) != 3 || page.NextCursor != "n" {
		t.Errorf("skipped %+v, cursor %q", page.Skipped, page.NextCursor)
	}
}

func TestReadRootsMalformed(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{}`, `[]`, `null`, `"x"`, `7`, `{"roots":null}`, `{"roots":{}}`, `{"roots":"file:///a"}`, `{"Roots":[]}`, `{"roots":[],"nextCursor":7}`} {
		if page, err := ReadRoots([]byte(raw)); !errors.Is(err, rootsmgr.ErrMalformed) {
			t.Errorf("%s: page %+v, error %v", raw, page, err)
		}
	}
	if page, err := ReadRoots([]byte(`{"roots":[],"nextCursor":null}`)); err != nil || len(page.Entries) != 0 {
		t.Errorf("an empty list is an answer: %+v, %v", page, err)
	}
}
