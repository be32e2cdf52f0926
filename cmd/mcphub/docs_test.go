package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A command stands in a document in a line of its own, or between backquotes.
var (
	commandLine   = regexp.MustCompile(`(?m)^    mcphub (.*)$`)
	commandInText = regexp.MustCompile("`mcphub ([^`]*)`")
)

// parses returns why the program would refuse a command line, short of running it.
func parses(line string) error {
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " ||")
	cmd, rest, err := rootCommand().Find(strings.Fields(line))
	switch {
	case err != nil:
		return err
	case cmd.HasSubCommands() && len(rest) > 0 && rest[0][0] != '-':
		return errors.New("there is no such command")
	}
	cmd.InitDefaultHelpFlag()
	if err = cmd.ParseFlags(rest); err != nil && strings.HasPrefix(err.Error(), "flag needs an argument") {
		return nil // it is about the flag alone
	}
	return err
}

// TestCommandsInTheDocuments holds that the program has each command and flag that the documents name.
func TestCommandsInTheDocuments(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "../../README.md", "../../SECURITY.md", "../../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, shape := range []*regexp.Regexp{commandLine, commandInText} {
			for _, m := range shape.FindAllStringSubmatch(string(text), -1) {
				found++
				if err := parses(m[1]); err != nil {
					t.Errorf("%s: mcphub %s: %v", filepath.Base(page), m[1], err)
				}
			}
		}
	}
	if found < 80 {
		t.Errorf("%d commands were found; have they another shape now?", found)
	}
	for _, wrong := range []string{"servee", "serve --htp", "audit shw"} {
		if parses(wrong) == nil {
			t.Errorf("the control: mcphub %s passes", wrong)
		}
	}
}

// TestStatusesInTheDocuments holds that docs/commands.md has every exit status, as the manual says it.
func TestStatusesInTheDocuments(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "| status | meaning |\n|---|---|\n"
	for _, s := range statuses {
		want += fmt.Sprintf("| %d | %s |\n", s.code, s.text)
	}
	if !strings.Contains(string(text), want) {
		t.Errorf("docs/commands.md has no table:\n%s", want)
	}
}
