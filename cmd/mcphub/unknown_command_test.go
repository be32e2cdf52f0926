package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestGuessedWords holds that each word that a person would try either is a
// command or is answered with one that there is.
func TestGuessedWords(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`mcphub ([a-z]+)`)
	words := strings.Fields("ls ps servers logs tail search info start stop login secrets config check test run show list tools add remove rm enable disable reload restart status schema man completion")
	for word := range guesses {
		words = append(words, word)
	}
	for _, word := range words {
		root := rootCommand()
		if cmd, _, err := root.Find([]string{word}); err == nil && cmd != root {
			if guesses[word] != "" {
				t.Errorf("%s is a command, and guesses answers it too", word)
			}
			continue
		}
		err := unknownCommandError(root, word)
		m := named.FindAllStringSubmatch(err.Error(), -1)
		if len(m) == 0 {
			t.Errorf("%s: %v names no command", word, err)
		}
		for _, found := range m {
			if cmd, _, err := root.Find([]string{found[1]}); err != nil || cmd == root {
				t.Errorf("%s: there is no mcphub %s", word, found[1])
			}
		}
	}
}

func TestUnknownCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"lst":           "did you mean mcphub list?",
		"valdate":       "did you mean mcphub validate?",
		"start --json":  "mcphub serve",
		"xyzzyx":        `unknown command "xyzzyx"`,
		"--unheard-of":  "unknown flag",
		"stop --pid=12": "mcphub disable NAME",
	} {
		root := rootCommand()
		root.SetArgs(strings.Fields(line))
		if err := root.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
