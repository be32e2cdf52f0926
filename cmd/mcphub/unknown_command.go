package main

import (
	"slices"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/internal/spelling"
)

// guesses are words that people try and that are no command here, with what
// does the thing.
var guesses = map[string]string{
	"apply":  "hubs read hub.json when it is saved; mcphub plan FILE says what a change would do, mcphub reload has it read again",
	"diff":   "mcphub plan FILE says what a changed hub.json would do",
	"config": "mcphub validate checks hub.json and shows what would be served; mcphub schema describes its keys",
	"edit":   "mcphub add, remove, enable and disable change hub.json; so does any editor",
	"find":   "mcphub tools --find WORDS finds tools by what they do, mcphub search WORD servers in a registry",
	"grant":  "mcphub allow NAME PATH lets a server open a path, mcphub revoke NAME PATH takes it back",
	"info":   "mcphub list shows the servers, mcphub status the hubs that run",
	"login":  "mcphub auth login NAME logs in at a server, mcphub secret set NAME keeps a key or token for one",
	"logout": "mcphub auth logout NAME logs out, mcphub secret rm NAME takes a secret away",
	"permit": "mcphub allow NAME PATH lets a server open a path, mcphub revoke NAME PATH takes it back",
	"run":    "mcphub serve runs the hub, mcphub call TOOL one tool",
	"show":   "mcphub list shows the servers, mcphub status the hubs that run",
	"start":  "mcphub serve runs the hub; mcphub enable NAME serves a server again, mcphub restart NAME starts it again",
	"stop":   "a hub ends with its client; mcphub disable NAME stops a server, mcphub restart NAME starts it again",
	"test":   "mcphub doctor tries the servers, mcphub call TOOL calls a tool, mcphub demo shows the hub at work",
	"up":     "mcphub serve runs the hub",
	"down":   "a hub ends with its client; mcphub disable NAME stops a server",
	"update": "mcphub add, remove, enable and disable change hub.json",
}

// unknownCommandError returns what to do instead of a command that is not there.
func unknownCommandError(root *cobra.Command, word string) error {
	if advice := guesses[word]; advice != "" {
		return exit.UsageErrorf("unknown command %q; %s", word, advice)
	}
	var words []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			words = append(append(words, c.Name()), c.Aliases...)
		}
	}
	slices.Sort(words)
	if best := spelling.Suggest(word, words); best != "" {
		return exit.UsageErrorf("unknown command %q; did you mean mcphub %s?", word, best)
	}
	return exit.UsageErrorf("unknown command %q", word)
}

// catchGuesses has a word that is no command answered by guessed, also where
// flags follow it.
func catchGuesses(root *cobra.Command) {
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommandError(cmd, args[0])
		}
		return nil
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && cmd.Flags().NArg() > 0 {
			return unknownCommandError(root, cmd.Flags().Arg(0))
		}
		return err
	})
}
