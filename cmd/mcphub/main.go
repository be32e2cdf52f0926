package main

import (
	"context"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"mcphub/children/process"
	"mcphub/children/sandbox/proof"
	"mcphub/cmd/mcphub/internal/exit"
	_ "mcphub/cmd/mcphub/internal/guardian" // runs before main
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/cmd/mcphub/internal/service"
	"mcphub/internal/printable"
	"mcphub/internal/stdio"
)

func main() { os.Exit(runCommand(os.Args[1:])) }

func runCommand(args []string) int {
	if proof.IsChild(args) {
		return proof.Child()
	}
	if status, ok := process.RunNpmShell(args); ok {
		return status
	}
	withoutCore()
	service.TuneCollector()
	substituteFolders()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pipe := make(chan os.Signal, 1)
	stdio.CatchBrokenPipe(func(sig ...os.Signal) { signal.Notify(pipe, sig...) })
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(printable.Writer(running.Over(os.Stdout)))
	root.SetErr(stderr)
	used, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exit.OK
	case ctx.Err() != nil && exit.Status(err) != exit.Interrupt: // else the command has more to say
		layout.Println(stderr, "mcphub: interrupted")
		return exit.Interrupt
	}
	code := exit.Status(err)
	if err.Error() != "" {
		for i, line := range layout.ErrorLines(err) {
			layout.Printf(stderr, "%s%s\n", layout.When(i == 0, "mcphub: "), line)
		}
	}
	if code == exit.Usage {
		layout.Printf(stderr, "Run '%s --help' to see what there is.\n", used.CommandPath())
	}
	return code
}

// substituteFolders has the hub keep its files in the temporary folder if the home folder takes none, and says so. All that looks for
// the hub's files looks at the same variables, and so do the servers.
func substituteFolders() {
	vars, err := rundir.Substitute(os.Getenv)
	if err != nil {
		layout.Printf(stderr, "mcphub: the home folder %s cannot be written: %v; set HOME, or XDG_STATE_HOME and XDG_CACHE_HOME, to folders that can\n", os.Getenv("HOME"), err)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		_ = os.Setenv(name, vars[name])
		layout.Printf(stderr, "mcphub: the home folder %s cannot be written, so %s is %s, which may not last; set it, or HOME\n", os.Getenv("HOME"), name, vars[name])
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "mcphub",
		Short:         "One MCP endpoint in front of many MCP servers, held to the client's roots",
		Long:          "mcphub joins many MCP servers behind one endpoint, tells them which directories\nthe client has put in scope, and judges every call against that boundary before\nit reaches a server.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       buildVersion(),
	}
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"set-up", "Set up:", []*cobra.Command{demoCommand(), initCommand(), importCommand(), installCommand(), tokenCommand(), uninstallCommand(), doctorCommand()}},
		{"servers", "Servers:", []*cobra.Command{addCommand(), searchCommand(), removeCommand(), enableCommand(), disableCommand(), allowCommand(), revokeCommand(), listCommand(), toolsCommand(), authCommand(), secretCommand()}},
		{"run", "Run:", []*cobra.Command{serveCommand(), statusCommand(), sessionsCommand(), consoleCommand(), logsCommand(), restartCommand(), reloadCommand(), warmCommand(), lockCommand(), approveCommand()}},
		{"check", "Look and check:", []*cobra.Command{validateCommand(), planCommand(), whyCommand(), callCommand(), explainCommand(), learnCommand(), rootsCommand(), auditCommand()}},
		{"", "", []*cobra.Command{filesCommand(), schemaCommand(), manCommand(), versionCommand()}},
	} {
		if group.id != "" {
			root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		}
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	finishCommand(root)
	root.InitDefaultCompletionCmd()
	completeArguments(root)
	catchGuesses(root)
	return root
}

// finishCommand gives a command and all below it what most have in common. One that does nothing by itself shows its help. One whose
// use names no arguments takes none. Each fails if its error carries no other exit status. What cobra refuses before a command runs
// carries none: that is wrong usage.
func finishCommand(cmd *cobra.Command) {
	run := cmd.RunE
	if run == nil {
		run = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return exit.Failed(run(cmd, args)) }
	if cmd.Args == nil && !strings.Contains(cmd.Use, " ") {
		cmd.Args = cobra.NoArgs
	}
	for _, below := range cmd.Commands() {
		finishCommand(below)
	}
}
