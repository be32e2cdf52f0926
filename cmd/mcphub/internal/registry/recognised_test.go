package registry

import (
	"testing"

	"mcphub/internal/commandline"
	"mcphub/internal/wellknown"
)

// TestWhatIsInstalledIsRecognised: the command line that an entry of a registry becomes starts that package for the hub as well.
func TestWhatIsInstalledIsRecognised(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind, identifier, version string
		kindOfName                commandline.Kind
		want                      string
	}{
		{NPM, "@playwright/mcp", "0.0.83", commandline.Fetched, "playwright"},
		{PyPI, "mcp-server-git", "2025.1.1", commandline.Fetched, "git"},
		{OCI, "docker.io/mcp/git:1.0.0", "", commandline.Image, "git"},
	} {
		p := Package{RegistryType: tc.kind, Identifier: tc.identifier, Version: tc.version, Transport: Transport{Type: "stdio"}}
		in, err := (&Server{Packages: []Package{p}}).Install(Options{})
		if err != nil {
			t.Fatal(err)
		}
		var command string
		var args []string
		for _, m := range in.Entry {
			switch m.Name {
			case "command":
				command = m.Value.(string)
			case "args":
				for _, a := range m.Value.([]any) {
					args = append(args, a.(string))
				}
			}
		}
		line := commandline.ReadLine(command, args)
		s := wellknown.ByLine(line, func(*wellknown.Server) bool { return true })
		if !line.Sure || len(line.Names) != 1 || line.Names[0].Kind != tc.kindOfName || s == nil || s.Name != tc.want {
			t.Errorf("%s %q: %+v", command, args, line)
		}
	}
}
