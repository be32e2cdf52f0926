package rootsmgr

import (
	"testing"

	"mcphub/rootsmgr/platform"
)

var mapped = Mapping{
	Dirs: []MappedDir{
		{"vscode-remote://ssh-remote+host/home/me", "/here"}, {"vscode-remote://ssh-remote+host/home/me/deep", "/elsewhere"},
		{"vscode-remote://dev-container+7b22/workspaces/x", "/src/x"}, {"file:///c%3A/work", "/win/work"}, {"vscode-remote://all", "/all"},
	},
	WSL: WSL{Distro: "Ubuntu-24.04", Drives: "/mnt/"},
}

// A root of a remote workspace is the directory here that the operator names, or that WSL names; no other one is.
func TestMapping(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"vscode-remote://ssh-remote%2Bhost/home/me/p%20q":    "/here/p q",
		"vscode-remote://ssh-remote+host/home/me":            "/here",
		"vscode-remote://ssh-remote+host/home/me/deep/x":     "/elsewhere/x",
		"vscode-remote://dev-container%2B7b22/workspaces/x/": "/src/x",
		"vscode-remote://all/etc":                            "/all/etc",
		"file:///C:/work/x":                                  "/win/work/x",
		"file:///c%3A/Users/me":                              "/mnt/c/Users/me",
		"file:///D:":                                         "/mnt/d",
		"file:///d:/":                                        "/mnt/d",
		"file://wsl.localhost/Ubuntu-24.04/home/me":          "/home/me",
		"file://wsl$/ubuntu-24.04/home/me":                   "/home/me",
		"file://wsl%24/Ubuntu-24.04":                         "/",
		"vscode-remote://wsl+ubuntu-24.04/home/me":           "/home/me",
		"vscode-remote://wsl%2BUbuntu-24.04/home/me":         "/home/me",

		// None of these.
		"vscode-remote://ssh-remote+host/home/mexico":         "",
		"vscode-remote://ssh-remote+host/home/me/../you":      "",
		"vscode-remote://ssh-remote+host/home/me/%2e%2e/you":  "",
		"vscode-remote://ssh-remote+host/home/me/a%2F..%2F..": "",
		"vscode-remote://ssh-remote+other/home/me":            "",
		"vscode-remote://wsl+debian/home/me":                  "",
		"file://wsl.localhost/Debian/home/me":                 "",
		"file://wsl.localhost/Ubuntu-24.04x/home/me":          "",
		"file://server/Ubuntu-24.04/home/me":                  "",
		"file:///home/me":                                     "",
		"file:///c:x":                                         "",
		"https://wsl+ubuntu-24.04/home/me":                    "",
	} {
		if got, ok := mapped.mapPath(platform.Linux, raw); got != want && ok || ok != (want != "") {
			t.Errorf("%s: %q, %t, want %q", raw, got, ok, want)
		}
		if got, ok := (Mapping{}).mapPath(platform.Linux, raw); ok {
			t.Errorf("%s: without a mapping %q", raw, got)
		}
	}
	plain := Mapping{WSL: WSL{Distro: "Ubuntu"}}
	if got, ok := plain.mapPath(platform.Linux, "file:///c%3A/x"); ok {
		t.Errorf("without drives: %q", got)
	}
	plain.WSL.Drives = "/mnt/"
	if got, ok := plain.mapPath(platform.Linux, "file:///c%3A/x"); got != "/mnt/c/x" || !ok {
		t.Errorf("without directories: %q, %t", got, ok)
	}
	twice := Mapping{Dirs: []MappedDir{{"vscode-remote://h/a", "/first"}, {"vscode-remote://H/a/", "/second"}}}
	if got, ok := twice.mapPath(platform.Linux, "vscode-remote://h/a/b"); got != "/first/b" || !ok {
		t.Errorf("a directory that is named twice: %q, %t", got, ok)
	}
	windows := Mapping{Dirs: []MappedDir{{"vscode-remote://h/a", `C:\a`}, {"vscode-remote://h", `C:\h`}}}
	for raw, want := range map[string]string{"vscode-remote://h/a/b/c": `C:\a\b\c`, `vscode-remote://h/a/..\Windows`: `C:\h\Windows`, `vscode-remote://h/a/..\..\Windows`: "", `vscode-remote://h/a/b\..\c`: `C:\a\c`} {
		if got, ok := windows.mapPath(platform.Windows, raw); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", raw, got, ok)
		}
	}
}

// What get-roots proposes makes a root of what was skipped.
func TestUnmapped(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"vscode-remote://ssh-remote+host/home/me": "/home/me", "file://wsl.localhost/Debian/home/me": "/home/me", "file:///c%3A/Users": "/mnt/c/Users", "file://server/share": "/share",
		"file:///home/me": "", "https://example.com/x": "", "x": "", "": "",
	} {
		from, to, ok := Skipped{Raw: raw}.Unmapped(platform.Linux)
		if to != want || ok != (want != "") {
			t.Errorf("%q: %q, %t, want %q", raw, to, ok, want)
		}
		if !ok {
			continue
		}
		if got, ok := (Mapping{Dirs: []MappedDir{{from, to}}}).mapPath(platform.Linux, raw); !ok || got != want {
			t.Errorf("%q: mapped to %q, %t", raw, got, ok)
		}
	}
	if _, _, ok := (Skipped{Raw: "file:///c:/x"}).Unmapped(platform.Windows); ok {
		t.Error("a drive of this machine")
	}
}
