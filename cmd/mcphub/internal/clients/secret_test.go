package clients

import (
	"testing"

	"mcphub/children/sandbox"
)

// TestNoLinkLeadsToAClient: the list of what no link may lead to has the files of every
// client, on every system.
func TestNoLinkLeadsToAClient(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"linux", "darwin", "windows"} {
		env := Env{OS: system, Home: "/home/u", Get: func(string) string { return "" }}
		for i := range All {
			for _, place := range All[i].places(env) {
				if sandbox.ClientFile(place.File) == "" {
					t.Errorf("%s on %s: %s", All[i].Name, system, place.File)
				}
			}
		}
	}
}
