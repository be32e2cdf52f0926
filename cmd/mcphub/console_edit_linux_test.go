package main

import (
	"slices"
	"strings"
	"testing"

	webconsole "mcphub/cmd/mcphub/internal/console"
)

func TestCommandWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		`uvx mcp-server-git`:               {"uvx", "mcp-server-git"},
		"  npx -y\t'a b' \"c 'd' \\\" e\"": {"npx", "-y", "a b", `c 'd' " e`},
		`x "" a\ b ${HOME}`:                {"x", "", "a b", "${HOME}"},
		`sh -c 'a | b > c'`:                {"sh", "-c", "a | b > c"},
		"":                                 nil,
	} {
		if got, err := commandWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{`a | b`, `a; b`, `a "b`, `a 'b`, `a \`, "a `b`", `a $(b)`, `a > b`, `a && b`} {
		if got, err := commandWords(line); err == nil {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// What is switched and added on the page is what the commands write.
func TestEditsAreThoseOfTheCommands(t *testing.T) {
	for name, c := range map[string]struct {
		edit    webconsole.Edit
		command []string
	}{
		"off":            {switchEdit("disable", "notes", ""), []string{"disable", "notes"}},
		"a tool off":     {switchEdit("disable", "notes", "read"), []string{"disable", "notes", "read"}},
		"a command":      {webconsole.Edit{Do: "add", Allowance: webconsole.Allowance{Server: "new"}, From: "command", Text: "sh -c 'a b'", Set: "A=1\r\nB=2"}, []string{"add", "new", "--no-try", "--env", "A=1", "--env", "B=2", "--", "sh", "-c", "a b"}},
		"an address":     {webconsole.Edit{Do: "add", Allowance: webconsole.Allowance{Server: "new"}, From: "command", Text: "https://example.com/mcp"}, []string{"add", "new", "--no-try", "--url", "https://example.com/mcp"}},
		"without a name": {webconsole.Edit{Do: "add", Allowance: webconsole.Allowance{Server: "new"}, From: "entry", Text: `{"url": "https://example.com/mcp"}`}, []string{"add", "new", "--no-try", "--url", "https://example.com/mcp"}},
		"a fragment":     {webconsole.Edit{Do: "add", From: "entry", Text: `"new": {"url": "https://example.com/mcp"},`}, []string{"add", "new", "--no-try", "--url", "https://example.com/mcp"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, config := allowing(t)
			before := read(t, config)
			shown, err := s.showChange(t.Context(), c.edit)
			if err != nil || shown.Digest == "" || read(t, config) != before {
				t.Fatalf("%+v, %v", shown, err)
			}
			if strings.Contains(strings.Join(slices.Concat(shown.Lines, shown.Entry, shown.Opens, shown.Notes), "\n"), hubSecret) {
				t.Errorf("a secret is shown: %+v", shown)
			}
			if _, err := s.writeChange(t.Context(), c.edit, shown.Digest); err != nil {
				t.Fatal(err)
			}
			after := read(t, config)
			write(t, config, before)
			command := rootCommand()
			command.SetArgs(append([]string{c.command[0], "--config", config}, c.command[1:]...))
			if err := command.Execute(); err != nil {
				t.Fatal(err)
			}
			if by := read(t, config); by != after || after == before {
				t.Errorf("the page writes\n%s\nthe command\n%s", after, by)
			}
		})
	}
}

func switchEdit(do, server, tool string) webconsole.Edit {
	return webconsole.Edit{Do: do, Allowance: webconsole.Allowance{Server: server}, Tool: tool}
}

// An edit that is none, a server that there is not, a pattern and what cannot be shown change nothing.
func TestEditsThatAreRefused(t *testing.T) {
	s, _, config := allowing(t)
	write(t, config, `{"mcpServers": {"notes": {"command": "sh", "tools": {"exclude": ["read_*"]}}}}`)
	for name, e := range map[string]webconsole.Edit{
		"none":                 {},
		"another":              switchEdit("remove", "notes", ""),
		"no such server":       switchEdit("disable", "other", ""),
		"a pattern":            switchEdit("enable", "notes", "read_file"),
		"a hidden sign":        switchEdit("disable", "notes", "x\u202ey"),
		"no name":              {Do: "add", From: "entry", Text: `{"command": "sh"}`},
		"no JSON":              {Do: "add", From: "entry", Text: `{"command"`},
		"no server":            {Do: "add", From: "entry", Text: `{}`},
		"a name that is there": {Do: "add", From: "command", Allowance: webconsole.Allowance{Server: "notes"}, Text: "sh"},
		"from nowhere":         {Do: "add", Text: "sh", Allowance: webconsole.Allowance{Server: "new"}},
	} {
		if shown, err := s.showChange(t.Context(), e); err == nil {
			t.Errorf("%s: %+v", name, shown)
		}
	}
	if shown, err := s.showChange(t.Context(), switchEdit("enable", "notes", "write")); err != nil || shown.Digest != "" {
		t.Errorf("the control: %+v, %v", shown, err)
	}
}
