package children_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"mcphub/children"
	"mcphub/children/spec"
	"mcphub/e2e/childtest"
)

// A child that many share, and that is served no roots, starts in no one's project
// but in an empty folder of its own, which goes with it. One of a session's own
// starts where the hub was started, as is right for it.
func TestSharedChildWithoutRootsStartsInAFolderOfItsOwn(t *testing.T) {
	t.Parallel()
	project := dirs(t, 1)[0].Path
	place := func(share spec.Share, entered string) (cwd string, gone func() bool) {
		child := childtest.Spec("kid", childtest.Script{})
		child.Share, child.Cwd = share, entered
		k := spec.Key{Child: "kid"}
		if share == spec.ShareSession {
			k = one
		}
		t.Run(share.String(), func(t *testing.T) {
			s := start(t, newWatcher(), children.SupervisorOptions{Specs: []spec.Spec{child}, Dir: project})
			s.Ensure(k, nil)
			l := acquire(t, s, k)
			var env struct{ StructuredContent struct{ Cwd string } }
			if err := json.Unmarshal([]byte(call(t, l, "env", "")), &env); err != nil {
				t.Fatal(err)
			}
			cwd = env.StructuredContent.Cwd
			if where, _ := l.Workplace(); where != cwd {
				t.Errorf("it works in %s, and is judged by %s", cwd, where)
			}
			if share == spec.ShareSession {
				return
			}
			if all, err := os.ReadDir(cwd); err != nil || len(all) > 0 {
				t.Errorf("%s holds %v, %v", cwd, all, err)
			}
			if fi, err := os.Stat(cwd); err != nil || fi.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is open to others: %v %v", cwd, fi, err)
			}
		})
		return cwd, func() bool { _, err := os.Stat(cwd); return errors.Is(err, os.ErrNotExist) }
	}
	if cwd, _ := place(spec.ShareSession, ""); cwd != project {
		t.Errorf("control: a session's own child starts in %s", cwd)
	}
	for _, share := range []spec.Share{spec.ShareAll, spec.ShareRoots} {
		for _, entered := range []string{"", "${root}"} {
			if cwd, gone := place(share, entered); cwd == project || cwd == "" || !gone() {
				t.Errorf("%s, cwd %q: it started in %s, which is gone: %t", share, entered, cwd, gone())
			}
		}
	}
}
