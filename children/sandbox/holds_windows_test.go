package sandbox

import "testing"

// TestContainsOnAShare: a share and its top folder are one directory. [filepath.Rel] never returns if it is asked for the path from one to the other.
func TestContainsOnAShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir, path string
		want      bool
	}{
		{`\\host\share`, `\\host\share\`, true}, {`\\host\share\`, `\\host\share`, true}, {`//host/share`, `\\HOST\share\`, true},
		{`\\host\share`, `\\host\share\a`, true}, {`\\host\share`, `\\host\other`, false}, {`\\?\C:`, `\\?\C:\`, true},
		{`C:\a`, `c:\A\b`, true}, {`C:\a`, `C:\ab`, false}, {`C:\`, `D:\`, false},
	} {
		if got := Contains(c.dir, c.path); got != c.want {
			t.Errorf("%s holds %s: %t", c.dir, c.path, got)
		}
	}
}
