package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcphub/internal/config"
)

// A command stands in a document in a line of its own, or between backquotes.
var (
	commandLine   = regexp.MustCompile(`(?m)^    mcphub (.*)$`)
	commandInText = regexp.MustCompile("`mcphub ([^`]*)`")
)

// parses says why the program would refuse a command line, short of running it.
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

// A piece of hub.json stands in a document as an indented block, or between fences. A block that begins with a key
// instead of a brace is the inside of the object.
var (
	fencedBlock   = regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```$")
	indentedBlock = regexp.MustCompile(`(?m)(?:^    .*\n)+`)
)

// pieces are the parts of hub.json in a page.
func pieces(page string) []string {
	var found []string
	for _, m := range fencedBlock.FindAllStringSubmatch(page, -1) {
		found = append(found, m[1])
	}
	page = fencedBlock.ReplaceAllString(page, "")
	found = append(found, indentedBlock.FindAllString(page, -1)...)
	var parts []string
	for _, text := range found {
		switch text = strings.TrimSpace(text); {
		case strings.HasPrefix(text, `"`):
			text = "{" + text + "\n}"
		case !strings.HasPrefix(text, "{"):
			continue
		}
		if strings.HasPrefix(text, `{"v":`) {
			continue // a line of the record
		}
		if regexp.MustCompile(`^{\s*"name"`).MatchString(text) {
			text = `{"policy":{"rules":[` + text + "\n]}}"
		}
		if !strings.Contains(text, `"mcpServers"`) {
			text = `{"mcpServers":{"filesystem":{"builtin":"files"}},` + text[1:]
		}
		parts = append(parts, text)
	}
	return parts
}

// TestConfigurationsInTheDocuments holds that hub.json is read without a problem as the documents show it.
func TestConfigurationsInTheDocuments(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	environment := func(string) (string, bool) { return "value", true }
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range pieces(string(text)) {
			found++
			_, problems, err := config.Parse(filepath.Join(t.TempDir(), "hub.json"), []byte(piece), environment)
			if err != nil {
				t.Errorf("%s: %v in\n%s", filepath.Base(page), err, piece)
			}
			for _, p := range problems {
				if p.Severity != config.SeverityNote {
					t.Errorf("%s: %v in\n%s", filepath.Base(page), p, piece)
				}
			}
		}
	}
	if found < 9 {
		t.Errorf("%d pieces of hub.json were found; have they another shape now?", found)
	}
	if _, problems, _ := config.Parse("hub.json", []byte(`{"polcy":{}}`), environment); len(problems) == 0 {
		t.Error("the control: an unknown key passes")
	}
}
