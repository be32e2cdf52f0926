package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"mcphub/children/launch"
)

// RunNpmShell runs what npm asks for, "-c TEXT", if this process is the script shell that the hub has given to npx, and returns
// the exit status. ok is false if it is not.
func RunNpmShell(args []string) (status int, ok bool) {
	if os.Getenv(launch.WorkdirVariable) == "" || len(args) != 2 || args[0] != "-c" {
		return 0, false
	}
	l, line, err := launch.PlanNpm(args[1], os.Environ())
	if err == nil {
		cmd := &exec.Cmd{Path: l.Command, Args: append([]string{l.Command}, l.Args...), Env: l.Env, Dir: l.Dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: line} // "": made of the arguments
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // the program gets it too, and this process ends with the program
		err = cmd.Run()
	}
	if ended, is := errors.AsType[*exec.ExitError](err); is {
		return ended.ExitCode(), true
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "mcphub, which starts what npx has fetched: %v\n", err)
		return 1, true
	}
	return 0, true
}
