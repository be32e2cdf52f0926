package inherit

import "testing"

// TestAlways: names have a case but on Windows, and a proxy's name has none anywhere.
func TestAlways(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ linux, windows bool }{
		"HOME":                   {true, true},
		"home":                   {false, true},
		"https_proxy":            {true, true},
		"LC_ALL":                 {true, true},
		"lc_all":                 {false, true},
		"xdg_config_home":        {false, true},
		"SSL_CERT_FILE":          {true, true},
		"ProgramFiles(x86)":      {false, true},
		"NUMBER_OF_PROCESSORS":   {false, true},
		"PROCESSOR_ARCHITECTURE": {false, true},
		"SystemRoot":             {false, true},
		"PWD":                    {false, false},
		"GITHUB_TOKEN":           {false, false},
		"":                       {false, false},
	} {
		if got := Always(name, false); got != want.linux {
			t.Errorf("%q: %v", name, got)
		}
		if got := Always(name, true); got != want.windows {
			t.Errorf("%q on Windows: %v", name, got)
		}
	}
}
