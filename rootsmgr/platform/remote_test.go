package platform_test

import (
	"testing"

	. "mcphub/rootsmgr/platform"
)

func TestReadRemoteURI(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]RemoteURI{
		"vscode-remote://wsl%2BUbuntu/home/me":       {"vscode-remote", "wsl+ubuntu", "/home/me"},
		"VSCode-Remote://wsl+ubuntu/home/me/":        {"vscode-remote", "wsl+ubuntu", "/home/me"},
		"vscode-remote://ssh-remote+Host/a%20b/../c": {"vscode-remote", "ssh-remote+host", "/c"},
		"vscode-remote://ssh-remote+host":            {"vscode-remote", "ssh-remote+host", "/"},
		"file://wsl.localhost/Ubuntu/home":           {"file", "wsl.localhost", "/Ubuntu/home"},
		"file://wsl%24/Ubuntu/home":                  {"file", "wsl$", "/Ubuntu/home"},
		"file:///c%3A/Users/me":                      {"file", "", "/c:/Users/me"},
		"file:///C:/Users":                           {"file", "", "/c:/Users"},
		"file:/C:":                                   {"file", "", "/c:"},
		"file://localhost/x":                         {"file", "", "/x"},
		"vscode-remote://h/a%252Fb":                  {"vscode-remote", "h", "/a%2Fb"},
		"vscode-remote://h/a?b#c":                    {"vscode-remote", "h", "/a?b#c"},
		"vscode-remote://h/../../etc":                {"vscode-remote", "h", "/etc"},
	} {
		if got, ok := Linux.ReadRemoteURI(raw); !ok || got != want {
			t.Errorf("%q: %+v, %t", raw, got, ok)
		}
	}
	for _, raw := range []string{"", "x", "/home/me", "c:/x", "vscode-remote:/x", "vscode-remote:x", "file://", "file:x", "vscode-remote://h/a%2Fb", "vscode-remote://h%2Fa/b", "vscode-remote://h/a%00", "vscode-remote://h/%ff", "vscode-remote://h/a\n", "vscode-remote://h%0a/x"} {
		if got, ok := Linux.ReadRemoteURI(raw); ok {
			t.Errorf("%q: %+v", raw, got)
		}
	}
	if got, ok := Windows.ReadRemoteURI("vscode-remote://h/a%5C..%5Cb"); ok {
		t.Errorf("%+v", got)
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	read := func(raw string) RemoteURI {
		u, ok := Linux.ReadRemoteURI(raw)
		if !ok {
			t.Fatal(raw)
		}
		return u
	}
	for _, tt := range []struct {
		of, top, rest string
		ok            bool
	}{
		{"x-y://h/a/b", "x-y://h/a", "b", true}, {"x-y://h/a", "x-y://h/a/", "", true}, {"x-y://h/a/b/c", "x-y://H/%61", "b/c", true}, {"x-y://h/a", "x-y://h", "a", true},
		{"x-y://h/ab", "x-y://h/a", "", false}, {"x-y://h/A/b", "x-y://h/a", "", false}, {"x-y://g/a/b", "x-y://h/a", "", false}, {"x-z://h/a/b", "x-y://h/a", "", false},
		{"x-y://h/a/../c", "x-y://h/a", "", false},
	} {
		if rest, ok := read(tt.of).Below(read(tt.top)); ok != tt.ok || ok && rest != tt.rest {
			t.Errorf("%s below %s: %q, %t", tt.of, tt.top, rest, ok)
		}
	}
}
