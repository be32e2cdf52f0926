package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	_ "mcphub/internal/guardian" // runs before main
)

// Exit codes, as documented in the README.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2
	exitConfig    = 3
	exitNotFound  = 5
	exitToolError = 6
	exitTimeout   = 8
	exitNoHub     = 9
	exitInterrupt = 130
)

// An exitError carries the exit code of a command that failed. An empty Err
// means that everything has been said.
type exitError struct {
	Code int
	Err  error
}

func (e *exitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *exitError) Unwrap() error { return e.Err }

func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// version is what this build calls itself: set by the linker in a release,
// else what the Go toolchain recorded.
var version = ""

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.1.0-dev"
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pipe := make(chan os.Signal, 1)
	ignoreBrokenPipe(func(sig ...os.Signal) { signal.Notify(pipe, sig...) })
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "mcphub: interrupted")
		return exitInterrupt
	}
	code := exitUsage // what cobra itself refuses is wrong usage
	var ee *exitError
	if errors.As(err, &ee) {
		code = ee.Code
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(os.Stderr, "mcphub: "+clean(text))
	}
	if code == exitUsage {
		fmt.Fprintln(os.Stderr, "Run 'mcphub --help' to see what there is.")
	}
	return code
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "mcphub",
		Short:         "One MCP endpoint in front of many MCP servers, held to the client's roots",
		Long:          "mcphub joins many MCP servers behind one endpoint, tells them which directories\nthe client has put in scope, and judges every call against that boundary before\nit reaches a server.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       buildVersion(),
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(serveCommand(), callCommand(), explainCommand(), rootsCommand(), demoCommand(), warmCommand(), validateCommand(), statusCommand(), approveCommand(), auditCommand(), reloadCommand(), filesCommand(), versionCommand())
	return root
}
