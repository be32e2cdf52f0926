package main

import (
	"regexp"
	"testing"

	"github.com/spf13/cobra"
)

// TestArgumentsAreCompleted: whatever a command calls its argument, a shell can complete it. One that makes a new name cannot.
func TestArgumentsAreCompleted(t *testing.T) {
	t.Parallel()
	named, seen := regexp.MustCompile(`\b(NAME|SERVER|TOOL|CLIENT)\b`), 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
			if sub.Name() == "completion" || sub.Name() == "add" || !named.MatchString(sub.Use) {
				continue
			}
			seen++
			if sub.ValidArgsFunction == nil {
				t.Errorf("%s completes nothing", sub.CommandPath())
			}
		}
	}
	walk(rootCommand())
	if seen < 18 {
		t.Errorf("%d commands were found", seen)
	}
}
