package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// A server that is held cannot sign: said of one that commits, if the user's git signs, and of no other.
func TestSigning(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		by      Signing
		command string
		args    []string
		kernel  string
		told    bool
	}{
		{"gpg-agent", "/usr/bin/uvx", []string{"mcp-server-git"}, "held", true},
		{"ssh-agent", "/usr/bin/npx", []string{"-y", "@cyanheads/git-mcp-server@2"}, "partial", true},
		{"gpg-agent", "/opt/Git-Server", nil, "held", true},
		{"", "/usr/bin/uvx", []string{"mcp-server-git"}, "held", false},
		{"gpg-agent", "/usr/bin/uvx", []string{"mcp-server-git"}, "none", false},
		{"gpg-agent", "/usr/bin/uvx", []string{"mcp-server-git"}, "", false},
		{"gpg-agent", "/usr/bin/npx", []string{"-y", "@modelcontextprotocol/server-github"}, "held", false},
		{"gpg-agent", "/home/a/digits", nil, "held", false},
	} {
		if text, cure := tc.by.Fails(tc.command, tc.args, tc.kernel); text != "" != tc.told || cure != "" != tc.told {
			t.Errorf("%+v: %q %q", tc, text, cure)
		}
	}
}

func TestSigningIsAskedOfGit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no kernel holds a server there")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	for text, want := range map[string]Signing{
		"": "", "[commit]\n\tgpgsign = false\n": "", "[commit]\n\tgpgsign = yes\n": "gpg-agent", "[commit]\n\tgpgsign\n[gpg]\n\tformat = ssh\n": "ssh-agent", "[gpg]\n\tformat = ssh\n": "",
	} {
		if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := SigningOf(t.Context(), home, zerolog.Nop()); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSurroundings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		files map[string]string
		env   map[string]string
		want  string
	}{
		{map[string]string{"/proc/sys/kernel/osrelease": "6.12.0-generic\n"}, nil, ""},
		{map[string]string{"/proc/sys/kernel/osrelease": "5.15.90.1-microsoft-standard-WSL2\n"}, nil, "WSL 2"},
		{map[string]string{"/proc/sys/kernel/osrelease": "4.4.0-19041-Microsoft\n"}, nil, "WSL 1"},
		{map[string]string{"/.dockerenv": ""}, nil, "a container"},
		{map[string]string{"/run/.containerenv": ""}, nil, "a container"},
		{nil, map[string]string{"container": "podman"}, "a container"},
		{map[string]string{"/.dockerenv": ""}, map[string]string{"REMOTE_CONTAINERS": "true"}, "a devcontainer"},
		{nil, nil, ""},
	} {
		read := func(path string) ([]byte, error) {
			text, ok := tc.files[path]
			if !ok {
				return nil, errors.New("nothing")
			}
			return []byte(text), nil
		}
		if got := systemSurroundings(read, func(name string) string { return tc.env[name] }); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// TestInside: who runs the hub on WSL or in a container is told what holds there, with the kernel's version of Landlock; elsewhere
// nothing is said.
func TestInside(t *testing.T) {
	t.Parallel()
	for inside, want := range map[string]string{
		"":               "",
		"WSL 1":          "this is WSL 1, which has no Landlock: the kernel holds no server, and every call is judged all the same",
		"WSL 2":          "this is WSL 2: its own Linux kernel holds the servers (Landlock ABI 0; 0 is not at all)",
		"a container":    "this is a container: the kernel of its host holds the servers, as far as the container's own filter leaves it (Landlock ABI 0; 0 is not at all)",
		"a devcontainer": "this is a devcontainer: the kernel of its host holds the servers",
	} {
		e := examination{report: &Report{}}
		e.reportSurroundings(&SystemInfo{Inside: inside})
		switch all := e.report.Findings; {
		case want == "" && len(all) > 0:
			t.Errorf("elsewhere it says %+v", all)
		case want != "" && (len(all) != 1 || !strings.HasPrefix(all[0].Text, want) || !strings.Contains(all[0].Cure, `"sandbox": "required"`)):
			t.Errorf("%s: %+v", inside, all)
		}
	}
}
